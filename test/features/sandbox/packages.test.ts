/** Packages of servers in a sandbox, with npm and a registry of the test. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { probeServer } from "../../../src/cli/probe.js";
import { usableServers } from "../../../src/config/config.js";
import { SILENT } from "../../../src/core/logger.js";
import { settingsOf } from "../../../src/features/packages/section.js";
import { PackageStarts } from "../../../src/features/packages/start-layer.js";
import { SandboxedStarts } from "../../../src/features/sandbox/start-layer.js";
import { Trial, thisMachine } from "../../../src/features/sandbox/trial.js";
import { configOf } from "../../support/gateway.js";
import { NAME, type Registry, registry } from "../packages/registry.js";
import { fencedTest } from "./fenced.js";

async function probed(npm: Registry, packages: object = {}) {
  const { env, folder: cwd } = npm;
  const echo = { command: "npx", args: ["-y", NAME], env, cwd, sandbox: {} };
  const config = configOf({ packages, mcpServers: { echo } });
  const [server] = usableServers(config);
  if (server === undefined) throw new Error("no server");
  const packageStarts = new PackageStarts(settingsOf(config.features), SILENT);
  const sandboxes = new SandboxedStarts({
    ...{ home: cwd, stateFolder: undefined, configFiles: () => [], log: SILENT },
    trial: new Trial(thisMachine(process.env)),
  });
  const found = await probeServer(server, {
    ...{ gateway: { name: "test", version: "0" }, signal: new AbortController().signal },
    startLayers: [packageStarts, sandboxes],
  });
  packageStarts.close();
  return found;
}

fencedTest(
  "what npx would fetch is fetched before the start, so that a sandbox without network has it",
  async () => {
    const npm = await registry({ "1.0.0": 30, "1.2.0": 2 });
    expect((await probed(npm)).connected?.serverInfo.version).toBe("1.0.0");
    npm.stop();
    expect((await probed(npm)).connected?.serverInfo.version).toBe("1.0.0");
  },
);

fencedTest("install scripts do not run outside of the sandbox, whatever packages.scripts says", async () => {
  const npm = await registry({ "1.0.0": 30 }, { needsScript: true });
  const { error, stderr } = await probed(npm, { scripts: true });
  expect(error).toBeDefined();
  expect(stderr.join("\n")).toContain("built is missing");
  expect(existsSync(join(npm.folder, "built"))).toBe(false);
});
