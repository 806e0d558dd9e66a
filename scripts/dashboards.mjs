/** `npm run dashboards [-- --check]`: writes `dashboards/grafana` and `dashboards/import` from `scripts/dashboards`, or compares. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import overview from "./dashboards/overview.mjs";
import { importable, provisioned } from "./dashboards/panels.mjs";
import policy from "./dashboards/policy.mjs";
import server from "./dashboards/server.mjs";
import sessions from "./dashboards/sessions.mjs";
import tool from "./dashboards/tool.mjs";

const folder = new URL("../dashboards/", import.meta.url);
const files = [overview, server, tool, policy, sessions].flatMap((described) => [
  [`grafana/${described.file}.json`, provisioned(described)],
  [`import/${described.file}.json`, importable(described)],
]);
const stale = [];
for (const [name, content] of files) {
  const file = new URL(name, folder);
  const text = `${JSON.stringify(content, undefined, 1)}\n`;
  if (existsSync(file) && readFileSync(file, "utf8") === text) continue;
  stale.push(name);
  if (process.argv.includes("--check")) continue;
  mkdirSync(new URL(".", file), { recursive: true });
  writeFileSync(file, text);
}
if (process.argv.includes("--check") && stale.length > 0) {
  console.error(`not what scripts/dashboards says: ${stale.join(", ")}; run npm run dashboards`);
  process.exitCode = 1;
} else console.log(`${files.length} dashboards, ${stale.length} of them new`);
