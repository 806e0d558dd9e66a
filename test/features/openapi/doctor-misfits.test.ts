/** What `cardea doctor` says of answers that do not keep their OpenAPI document, of which the running gateway knows. */
import "../admin/needed.js";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runCommandLine } from "../../../src/cli/program.js";
import { writeRunFile } from "../../../src/cli/run-files.js";
import { SILENT } from "../../../src/core/logger.js";
import { fakeShell } from "../../cli/fake-shell.js";
import { folderWith } from "../../support/api.js";
import { apiGateway } from "./api-gateway.js";

const schema = { type: "object", properties: { id: { type: "string" } } };
const PATHS = {
  "/x": {
    get: {
      operationId: "op",
      responses: { 200: { description: "ok", content: { "application/json": { schema } } } },
    },
  },
};
const connected = {
  serverInfo: {},
  tools: 1,
  names: { tools: ["op"], prompts: [] },
  malformed: [],
};

async function doctor(config: string, env: Record<string, string>, ...flags: readonly string[]) {
  const shell = fakeShell({
    cwd: join(config, ".."),
    env,
    examine: async () => ({ connected, stderr: [], nonProtocolOutput: [] }),
  });
  await runCommandLine(["doctor", "--config", config, ...flags], shell);
  return shell.out();
}

test("doctor names the tools whose answers went out without structured content, and why", async () => {
  const answer = () => ({ headers: { "content-type": "application/json" }, body: '{"id":7}' });
  const { gateway, url, adminUrl } = await apiGateway(PATHS, { answer });
  await gateway.call("api__op", {});
  await gateway.call("api__op", {});
  const folder = folderWith({});
  const config = join(folder, "cardea.json");
  writeFileSync(
    config,
    JSON.stringify({ mcpServers: { api: { type: "openapi", url: "http://127.0.0.1:9/" } } }),
  );
  const env = { XDG_STATE_HOME: folder, HOME: folder };
  expect(await doctor(config, env)).not.toContain("structured content");
  await writeRunFile(env, { url: String(url), adminUrl: String(adminUrl), pid: process.pid, config }, SILENT);
  expect(await doctor(config, env)).toContain(
    'without structured content: "op" (2 times): id must be string or null, not number',
  );
  expect(JSON.parse(await doctor(config, env, "--json"))).toMatchObject({
    servers: [{ misfits: [{ tool: "op", count: 2 }] }],
  });
});
