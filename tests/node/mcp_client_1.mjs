// The official TypeScript client, 1.x: `mcp_client_1.mjs URL [VERSION]`. Lists and calls all tools, prints JSON.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const headers = process.env.KEY ? { Authorization: `Bearer ${process.env.KEY}` } : {};
const transport = new StreamableHTTPClientTransport(new URL(process.argv[2]), { requestInit: { headers } });
const client = new Client({ name: "tests", version: "1" });
await client.connect(transport);
await client.ping();
const { tools } = await client.listTools();
const results = [];
for (const [name, given] of JSON.parse(process.env.CALLS)) {
  const result = await client.callTool({ name, arguments: given });
  const { isError: error = false, structuredContent: structured = null } = result;
  results.push({ name, error, text: result.content[0].text, structured });
}
await transport.terminateSession();
console.log(JSON.stringify({ version: transport.protocolVersion, tools: tools.map((tool) => tool.name), results }));
await client.close();
