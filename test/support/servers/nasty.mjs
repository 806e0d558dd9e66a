// A server that puts what steers a terminal, breaks a line or hides into everything it says.
import { createInterface } from "node:readline";

const char = (...codes) => String.fromCodePoint(...codes);
/** Clear the screen; a link; the C1 form of the same; a line of a log; hidden instructions; text turned around. */
export const NASTY = [
  `${char(0x1b)}[2J${char(0x1b)}]8;;http://evil.example${char(7)}click${char(0x1b)}]8;;${char(7)}`,
  `${char(0x9b)}31m`,
  `\r\n{"level":"error","time":1,"msg":"forged"}\n12:00:00 ERROR forged`,
  `${char(0x2028)}forged${char(0x2029, 0x85)}`,
  char(0xe0041, 0xe0042, 0xe0043),
  char(0x202e, 0x2066, 0x200b, 0xfeff),
].join(" ");

const schema = { type: "object", description: NASTY, properties: { [NASTY]: { type: "string" } } };
const about = { title: NASTY, description: NASTY };
const lists = {
  "tools/list": {
    tools: [
      { name: "speak", ...about, inputSchema: schema },
      { name: `odd ${NASTY}`, ...about, inputSchema: schema },
    ],
  },
  "prompts/list": { prompts: [{ name: `p ${NASTY}`, ...about }] },
  "resources/list": { resources: [{ uri: `x:${NASTY}`, name: NASTY, ...about }] },
  "resources/templates/list": { resourceTemplates: [{ uriTemplate: `x:{y}${NASTY}`, name: NASTY }] },
};

function answer(method) {
  if (method === "initialize") {
    return {
      protocolVersion: "2025-06-18",
      capabilities: { tools: {}, prompts: {}, resources: {}, logging: {} },
      serverInfo: { name: NASTY, version: NASTY },
      instructions: NASTY,
    };
  }
  if (method === "tools/call") {
    const content = [
      { type: "text", text: NASTY },
      { type: "resource_link", uri: `javascript:${NASTY}`, name: NASTY },
      { type: NASTY, mimeType: NASTY },
    ];
    return { content, structuredContent: { [NASTY]: NASTY } };
  }
  return lists[method] ?? {};
}

const say = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
process.stderr.write(`${NASTY}\n`);
process.stdout.write(`${NASTY}\n`);
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === "tools/call" && params.arguments?.die) {
    process.stderr.write(NASTY);
    process.exit(1);
  }
  if (method === "tools/call" && params.arguments?.refuse)
    say({ id, error: { code: 1, message: NASTY, data: NASTY } });
  else if (id !== undefined) say({ id, result: answer(method) });
  if (method === "tools/call")
    say({ method: "notifications/message", params: { level: "info", data: NASTY } });
});
