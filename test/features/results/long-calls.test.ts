/** Results over their budget of calls that take a while: with questions, with progress, and cancelled ones; in all pairs of eras. */
import "../../../src/features/results/feature.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Budgets } from "../../../src/features/results/budgets.js";
import { keepLargeResults } from "../../../src/features/results/keep-large-results.js";
import { KeptResults } from "../../../src/features/results/kept-results.js";
import { HOSTS, openHost, type ScenarioHost } from "../../scenarios/host.js";
import { openStage, type Stage } from "../../scenarios/stage.js";
import { result, routeTo, toolCall } from "../../support/calls.js";
import type { Json } from "../../support/peers/host.js";
import { UPSTREAMS } from "../../support/scripted/upstreams.js";
import { idOf, sizeOf, textOf } from "./support.js";

const CHARACTERS = 400;
const KINDS = UPSTREAMS.filter(({ transport }) => transport === "http");
const LONG = Array.from({ length: 500 }, (_, at) => `word ${at}`).join("\n");

let stage: Stage;
beforeAll(async () => {
  stage = await openStage(KINDS, { config: { results: { maxTokens: CHARACTERS / 4 } } });
});
afterAll(() => stage.close());

const resultIn = ({ result: given }: Json): Json => given as Json;

describe.each([HOSTS.legacyHttp, HOSTS.modernHttp])("$name", (kind) => {
  let host: ScenarioHost;
  beforeAll(async () => {
    host = await openHost(stage, kind);
  });
  afterAll(() => host.leave());

  const read = async (id: string, query: Json): Promise<Json> =>
    resultIn(await host.call("read_result", { id, ...query }).outcome);

  describe.each(KINDS)("at $name", ({ key }) => {
    test("is asked in the middle of a call, and gets a preview of what its answer made", async () => {
      const requestedSchema = { type: "object", properties: { it: { type: "string" } } };
      const questions = {
        one: {
          method: "elicitation/create",
          params: { mode: "form", message: "How long?", requestedSchema },
        },
      };
      const answer = () => ({ action: "accept", content: { it: LONG } });
      const calling = host.call(`${key}__ask_this`, { questions }, answer);
      const preview = resultIn(await calling.outcome);
      expect(calling.asked.map(({ params }) => params.message)).toEqual([
        expect.stringContaining("How long?"),
      ]);
      expect(sizeOf(preview)).toBeLessThanOrEqual(CHARACTERS);
      const page = await read(idOf(preview), {
        path: "/one/result/content/it",
        offset: 499,
      });
      expect(textOf(page)).toBe("word 499");
    });

    test("receives progress before the preview", async () => {
      const before = host.heard.length;
      const calling = host.call(`${key}__work`, { steps: 4, text: LONG }, undefined, { progressToken: "p" });
      const preview = resultIn(await calling.outcome);
      const progress = host.heard
        .slice(before)
        .filter(({ method }) => method === "notifications/progress")
        .map(({ params }) => (params as Json).progress);
      expect(progress).toEqual([1, 2, 3, 4]);
      expect(textOf(await read(idOf(preview), { offset: 499 }))).toBe("word 499");
    });
  });
});

test("nothing is kept of a call that was cancelled while its result was large enough to wait for its turn", async () => {
  const budgets = new Budgets({
    servers: [{ name: "db", features: {} }],
    features: { results: { maxTokens: 100, keepMs: 60_000, maxBytes: 10_000_000 } },
  });
  const kept = new KeptResults(10_000_000);
  const cancelled = new AbortController();
  const layer = keepLargeResults({
    budgets,
    kept,
    logger: { error: expect.fail } as never,
    onSaved: () => {},
  });
  const handle = layer(async () => {
    queueMicrotask(() => cancelled.abort());
    return result({ content: [{ type: "text", text: "n".repeat(100_000) }] });
  });
  await handle(toolCall("db", "query", {}, { route: routeTo("db", "query"), signal: cancelled.signal }));
  expect(kept.bytes).toBe(0);
});
