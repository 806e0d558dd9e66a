/** What `cardea status` and `cardea doctor` print of the problems of the running gateway. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { runCommandLine } from "../../../src/cli/program.js";
import { writeRunFile } from "../../../src/cli/run-files.js";
import { SILENT } from "../../../src/core/logger.js";
import { fakeShell } from "../../cli/fake-shell.js";
import { gatewayOf, listening } from "../../support/gateway.js";
import "./needed.js";

const HALF_WELL = fileURLToPath(new URL("half-well.mjs", import.meta.url));
const CONFIG = { mcpServers: { one: { command: process.execPath, args: [HALF_WELL, "never"] } } };
const connected = { serverInfo: {}, tools: 1, names: { tools: ["flaky"], prompts: [] }, malformed: [] };

/** Half of its calls fail, and a rule of it matches nothing. Runs a command beside it. */
async function besideTroubledGateway() {
  const folder = mkdtempSync(join(tmpdir(), "cardea-same-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const config = join(folder, "cardea.json");
  writeFileSync(config, JSON.stringify(CONFIG));
  const gateway = await gatewayOf(CONFIG);
  const { url, adminUrl } = await listening(gateway);
  onTestFinished(() => gateway.stop({ immediate: true }));
  for (let call = 0; call < 9; call += 1) await gateway.call("one__flaky", {});
  gateway.foundIneffective(["cardea.json:4:9: no tool is exposed under a name like this"]);
  const env = { XDG_STATE_HOME: folder, HOME: folder };
  await writeRunFile(env, { url, adminUrl, pid: process.pid, config }, SILENT);
  return async (...line: readonly string[]) => {
    const shell = fakeShell({
      ...{ cwd: folder, env },
      examine: async () => ({ connected, stderr: [], nonProtocolOutput: [] }),
    });
    await runCommandLine([...line, "--config", config], shell);
    return shell.out();
  };
}

const FAILS = "one fails often: 3 of 9 calls failed within 15 min (the last one: tool_error)";

test("status prints them with their age and what to do, and as JSON", async () => {
  const run = await besideTroubledGateway();
  const text = await run("status");
  expect(text).toMatch(new RegExp(`^ {2}${FAILS.replace(/[()]/g, "\\$&")} \\(for \\d+ s\\)$`, "m"));
  expect(text).toMatch(/^ {2}cardea\.json:4:9: no tool .*\n {4}cardea check$/m);
  expect(JSON.parse(await run("status", "--json"))).toMatchObject({
    problems: [{ kind: "error_rate" }, { kind: "ineffective" }],
  });
});

test("doctor adds what only the gateway that runs can know", async () => {
  const run = await besideTroubledGateway();
  const text = await run("doctor");
  expect(text).toContain(`The gateway that runs with this config has problems:\n  ${FAILS}`);
  // The report reads the config itself.
  expect(text).not.toContain("cardea.json:4:9");
  expect(JSON.parse(await run("doctor", "--json"))).toMatchObject({
    running: { problems: [{ kind: "error_rate", text: FAILS }, { kind: "ineffective" }] },
  });
});
