/** The same fast MCP server over stdio. `node stdio.mjs [--tools N]` */
import { parseArgs } from "node:util";
import { serveStdio } from "../../test/support/server/http.mjs";
import { createEchoServer } from "./echo.mjs";

const { values } = parseArgs({ options: { tools: { type: "string" } } });
serveStdio(createEchoServer({ tools: Number(values.tools ?? 0) }));
process.stdin.on("end", () => process.exit(0));
