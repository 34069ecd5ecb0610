// A call through types made from the description: TypeScript checks names and types of parameters and answers.
import createClient from "openapi-fetch";
import type { paths } from "./schema.d.ts";

declare const process: { argv: string[] };
const base = process.argv[2] ?? "";
const client = createClient<paths>({ baseUrl: base });

const zones = await client.GET("/v1/zones");
const ids: string[] = zones.data!.zones.map((zone) => zone.id);

const price = await client.GET("/v1/price/{zone}", {
  params: { path: { zone: "GB" }, query: { sample: true, limit: 3 } },
});
const answer = price.data!;
if (typeof answer === "string" || !("data" in answer)) throw new Error("the answer holds no rows");
const values: number[] = answer.data.map((row) => row.value);
const unit: string = answer.data[0].unit;

const brief = await client.GET("/v1/brief/{zone}", { params: { path: { zone: "GB" }, query: { sample: true } } });
const summary: string = brief.data!.summary;

console.log(JSON.stringify({ zones: ids.length, values, unit, summary }));
