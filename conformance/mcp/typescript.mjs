// Lists the tools of the six servers and calls one of each, with both lines of the SDK for TypeScript: 2.x, which needs no
// handshake, and 1.x. Arguments: the address, and the samples as JSON.

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as FirstClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as FirstTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [address, text] = process.argv.slice(2);
const samples = JSON.parse(text);
const url = new URL(`http://${address}/mcp`);
const about = { name: "conformance", version: "1" };
const clients = {
  "2.x": [new Client(about, { versionNegotiation: { mode: "auto" } }), new StreamableHTTPClientTransport(url)],
  "1.x": [new FirstClient(about), new FirstTransport(url)],
};
const failures = [];
for (const [line, [client, transport]] of Object.entries(clients)) {
  await client.connect(transport);
  const names = [];
  let cursor;
  do {
    const page = await client.listTools(cursor ? { cursor } : {});
    names.push(...page.tools.map((tool) => tool.name));
    cursor = page.nextCursor;
  } while (cursor);
  for (const { server, count, name, arguments: given, expected } of samples) {
    const own = new Set(names.filter((other) => other.startsWith(`${server}_`)));
    if (own.size < count) failures.push(`${line}: ${server} has ${own.size} tools, not ${count}`);
    const result = await client.callTool({ name, arguments: given });
    if (result.isError || !JSON.stringify(result).includes(expected)) {
      failures.push(`${line}, ${name}: ${JSON.stringify(result)}`);
    }
  }
  await client.close();
}
console.log(JSON.stringify(failures));
