/**
 * How far off is the estimate of tokens (src/core/token-estimate.ts)? Starts the servers of a config and counts their tools
 * with gpt-tokenizer, which is no dependency (30 MB): `npm install --prefix /tmp/tokens gpt-tokenizer@4.0.0`, then
 * `npm run tokens:accuracy -- /tmp/tokens CONFIG`.
 */
import { execFileSync } from "node:child_process";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { estimateTokens } from "../build/core/token-estimate.js";
import { root } from "./install.mjs";

const [folder, config] = process.argv.slice(2);
if (folder === undefined || config === undefined) {
  console.error("usage: npm run tokens:accuracy -- FOLDER-WITH-GPT-TOKENIZER CONFIG");
  process.exit(2);
}
const tokenizer = resolve(folder, "node_modules/gpt-tokenizer/esm/encoding/o200k_base.js");
const { countTokens } = await import(pathToFileURL(tokenizer).href);

const list = [`${root}dist/main.js`, "list", "tools", "--json", "--fresh", "--config", config];
const tools = JSON.parse(
  execFileSync(process.execPath, list, { encoding: "utf8", maxBuffer: 64 * 1024 * 1024 }),
);

const rows = new Map();
const errors = [];
for (const { server, name, description, inputSchema } of tools) {
  const text = JSON.stringify({ name, description, inputSchema });
  const [counted, estimated] = [countTokens(text), estimateTokens(text)];
  const row = rows.get(server) ?? { server, tools: 0, bytes: 0, counted: 0, estimated: 0 };
  row.tools += 1;
  row.bytes += Buffer.byteLength(text);
  row.counted += counted;
  row.estimated += estimated;
  rows.set(server, row);
  errors.push(Math.abs(estimated / counted - 1));
}

const percent = (share) => `${(share * 100).toFixed(1)} %`;
console.table(
  [...rows.values()].map((row) => ({
    ...row,
    off: percent(row.estimated / row.counted - 1),
    "bytes / 4 off": percent(row.bytes / 4 / row.counted - 1),
  })),
);
errors.sort((a, b) => a - b);
const at = (share) => percent(errors[Math.min(errors.length - 1, Math.floor(errors.length * share))] ?? 0);
console.log(`${errors.length} tools: median ${at(0.5)} off, p95 ${at(0.95)}, at most ${at(1)}`);
