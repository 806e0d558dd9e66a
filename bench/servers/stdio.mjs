/** The same fast MCP server over stdio. `node stdio.mjs [--tools N]` */
import { parseArgs } from "node:util";
import { createEchoServer } from "./echo.mjs";

const { values } = parseArgs({ options: { tools: { type: "string" } } });
const { answer } = createEchoServer({ tools: Number(values.tools ?? 0) });
let rest = "";
process.stdin.setEncoding("utf8");
process.stdin.on("data", (chunk) => {
  const lines = (rest + chunk).split("\n");
  rest = lines.pop();
  let out = "";
  for (const line of lines) {
    if (line === "") continue;
    const reply = answer(JSON.parse(line));
    if (reply !== undefined) out += `${JSON.stringify(reply)}\n`;
  }
  if (out !== "") process.stdout.write(out);
});
process.stdin.on("end", () => process.exit(0));
