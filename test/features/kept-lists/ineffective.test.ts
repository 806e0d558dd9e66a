/** `check` knows what servers list from an earlier run, and starts none. */
import "../admin/needed.js";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import "../../../src/features/kept-lists/feature.js";
import { allMet, MAIN, startServing, writeConfig } from "../../support/cardea.js";
import { type Fixture, startFixture } from "../../support/fixture.js";
import { start } from "../../support/processes.js";
import { until } from "../../support/until.js";

let state: string;
let server: Fixture;
beforeEach(async () => {
  state = mkdtempSync(join(tmpdir(), "cardea-kept-"));
  server = await startFixture("legacy", "http");
});
afterEach(async () => {
  await server.stop();
  rmSync(state, { recursive: true });
});

async function checked(file: string, ...flags: readonly string[]) {
  const run = start(process.execPath, [MAIN, "check", "--config", file, ...flags], {
    env: { ...process.env, CARDEA_STATE_DIR: state },
  });
  let text = "";
  run.child.stdout.on("data", (chunk) => {
    text += String(chunk);
  });
  const { code } = await run.exited;
  return { code, text };
}

test("so that it names a filter that matches nothing, and refuses it with --strict", async () => {
  const { file, remove } = writeConfig({
    mcpServers: { good: { ...server.entry, tools: { deny: ["ecco"] }, start: "eager" } },
  });
  try {
    expect(await checked(file, "--strict")).toMatchObject({ code: 0 });
    const ports = ["--port", "0", "--admin-port", "0"];
    const gateway = await startServing(
      ["serve", "--config", file, ...ports, "--state-dir", state],
      async () => {},
    );
    await until("every server", () => allMet(gateway.admin));
    await until("a warning", () => gateway.process.stderr().includes("did you mean echo?"));
    await gateway.stop();
    await server.stop();
    expect(await checked(file)).toMatchObject({
      code: 0,
      text: expect.stringContaining("did you mean echo?"),
    });
    expect(await checked(file, "--strict")).toMatchObject({ code: 78 });
  } finally {
    await remove();
  }
});
