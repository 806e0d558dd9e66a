/**
 * A fast MCP server over HTTP; prints its port. Any path will do, so one process can stand for many servers.
 *
 *   node http.mjs [--tools N] [--lie N] [--list-ms MS]
 *
 * The methods `bench/announce` and `bench/counts` are for the benchmark itself (echo.mjs).
 */
import { parseArgs } from "node:util";
import { serveHttp } from "../../test/support/server/http.mjs";
import { createEchoServer } from "./echo.mjs";

const { values } = parseArgs({
  options: { tools: { type: "string" }, lie: { type: "string" }, "list-ms": { type: "string" } },
});
const [tools, lieEvery, listMs] = ["tools", "lie", "list-ms"].map((name) => Number(values[name] ?? 0));
const answer = createEchoServer({ tools, lieEvery, listMs });
const { port } = await serveHttp(answer, { keepAliveMs: 60_000 });
process.stdout.write(`${port}\n`);
