// The official TypeScript client, 2.x: `mcp_client_2.mjs URL OPTIONS` (JSON). Lists and calls all tools, prints JSON.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

const headers = process.env.KEY ? { Authorization: `Bearer ${process.env.KEY}` } : {};
const transport = new StreamableHTTPClientTransport(new URL(process.argv[2]), { requestInit: { headers } });
const client = new Client({ name: "tests", version: "1" }, JSON.parse(process.argv[3]));
await client.connect(transport);
const { tools } = await client.listTools();
const results = [];
for (const [name, given] of JSON.parse(process.env.CALLS)) {
  const result = await client.callTool({ name, arguments: given });
  const { isError: error = false, structuredContent: structured = null } = result;
  results.push({ name, error, text: result.content[0].text, structured });
}
const { resources } = await client.listResources();
const { prompts } = await client.listPrompts();
const page = await client.readResource({ uri: "emds://docs/brief" });
const prompt = await client.getPrompt({ name: "market_briefing", arguments: { zone: "GB" } });
const read = {
  resources: resources.map((resource) => resource.uri),
  prompts: prompts.map((each) => each.name),
  page: page.contents[0].text.slice(0, 11),
  prompt: prompt.messages[0].content.text,
};
const version = client.getNegotiatedProtocolVersion?.() ?? transport.protocolVersion;
console.log(JSON.stringify({ version, tools: tools.map((tool) => tool.name), results, ...read }));
await client.close();
