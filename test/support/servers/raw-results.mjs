// A legacy stdio server that answers calls with the text that they name: `text` is the whole message, in which
// $ID stands for the id of the call, and `before` is written before it. Its list of tools is the text of RAW_TOOLS.
import { createInterface } from "node:readline";

const write = (text) => process.stdout.write(`${text}\n`);
const answers = [];
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params, result, error } = JSON.parse(line);
  if (method === undefined) return void answers.push({ result, error });
  if (id === undefined) return;
  const answer = (text) => write(`{"jsonrpc":"2.0","id":${id},"result":${text}}`);
  if (method === "tools/list") answer(process.env.RAW_TOOLS);
  else if (method !== "tools/call") {
    answer(
      JSON.stringify({
        protocolVersion: params?.protocolVersion ?? "2025-11-25",
        capabilities: { tools: {} },
        serverInfo: { name: "raw", version: "1" },
      }),
    );
  } else {
    const { text, before } = params.arguments ?? {};
    if (before !== undefined) write(before.replaceAll("$ID", String(id)));
    const plain = {
      content: [{ type: "text", text: JSON.stringify(params.arguments ?? {}) }],
      structuredContent: { answers },
    };
    if (text === undefined) answer(JSON.stringify(plain));
    else write(text.replaceAll("$ID", String(id)));
  }
});
