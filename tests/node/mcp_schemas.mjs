// Prints the official schema.json of each protocol version, as the conformance suite carries them for its own checks.
import { readFileSync } from "node:fs";
import { runInNewContext } from "node:vm";

const file = "node_modules/@modelcontextprotocol/conformance/dist/index.js";
const suite = readFileSync(new URL(file, import.meta.url), "utf8");
// ...,Pe={$schema:...},Fe={...},Ie={...},Le={...};const Re={"2025-03-26":Pe,"2025-06-18":Fe,"2025-11-25":Ie,[A]:Le};
const table = suite.match(/const \w+=\{"2025-03-26":(\w+),"2025-06-18":(\w+),"2025-11-25":(\w+),\[\w+\]:(\w+)\};/);
const names = table.slice(1);
const begin = suite.indexOf(`${names[0]}={$schema:`);
const schemas = runInNewContext(`var ${suite.slice(begin, table.index)}; [${names}]`);
const versions = ["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];
console.log(JSON.stringify(Object.fromEntries(versions.map((version, at) => [version, schemas[at]]))));
