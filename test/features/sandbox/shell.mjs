/** A stdio server of 2025-06-18 with one tool, `sh`, which runs a command and answers with what it writes. */
import { execFile } from "node:child_process";
import { createInterface } from "node:readline";

const LIST = {
  tools: [{ name: "sh", inputSchema: { type: "object", properties: { run: { type: "string" } } } }],
};

process.on("SIGTERM", () => {
  console.error("was asked to end");
  if (process.env.SAYS_GOODBYE !== undefined)
    execFile("sh", ["-c", `touch ${process.env.SAYS_GOODBYE}`], () => process.exit(0));
});
// Without its input it stays, so that a signal must end it.
const stays = setInterval(() => {}, 1_000);
if (process.env.SAYS_GOODBYE === undefined) process.stdin.on("end", () => clearInterval(stays));
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  const answer = (result) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, result })}\n`);
  if (method === "initialize")
    answer({
      protocolVersion: "2025-06-18",
      capabilities: { tools: {} },
      serverInfo: { name: "shell", version: "1" },
    });
  else if (method === "tools/list") answer(LIST);
  else if (method === "tools/call")
    execFile("sh", ["-c", params.arguments.run], { timeout: 20_000 }, (error, stdout, stderr) =>
      answer({ content: [{ type: "text", text: stdout + stderr }], isError: error !== null }),
    );
  else if (id !== undefined)
    process.stdout.write(
      `${JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32601, message: "none" } })}\n`,
    );
});
