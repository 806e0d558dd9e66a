/** Large results of real servers: previews fit, and questions about the rest are answered in three steps. */
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { asked, idIn, readableOf, sizeOf, WAYS } from "../../../scripts/results/ask.mjs";
import { type Files, writeFiles } from "../../../scripts/results/fixture.mjs";
import { OWN_CASES } from "../../../scripts/results/own-cases.mjs";
import { ownServers } from "../../../scripts/results/own-servers.mjs";
import { openGateway, type Running } from "../../support/open-gateway.js";
import { ask } from "./support.js";

const TOKENS = 2_000;
let files: Files;
let running: Running;
const ends: (() => Promise<void>)[] = [];

beforeAll(async () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "cardea-results-")));
  ends.push(async () => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }));
  files = writeFiles(folder);
  const config = { results: { maxTokens: TOKENS } };
  running = await openGateway({}, config, ownServers(files), (end) => void ends.push(end));
});
afterAll(async () => {
  for (const end of ends.toReversed()) await end();
});

describe.each(["legacy", "modern"] as const)("a %s host", (era) => {
  test.each(OWN_CASES)("of $tool ($kind) gets a preview, and reads the rest", async (each) => {
    const host = await running.host({ era, door: "http" });
    const result = await ask(host, "tools/call", { name: each.tool, arguments: each.args(files) });
    expect(sizeOf(result)).toBeLessThanOrEqual(TOKENS * 4);
    const about = { id: idIn(result), preview: readableOf(result) };
    for (const question of each.questions) {
      for (const way of Object.keys(WAYS)) {
        const steps = await asked((method, params) => ask(host, method, params), way, { ...about, question });
        expect(steps).toBeLessThanOrEqual(3);
      }
    }
  });
});
