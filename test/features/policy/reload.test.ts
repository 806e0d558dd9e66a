/** The policy is replaced during calls: no call is lost, and each is evaluated by exactly one of the two. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Config } from "../../../src/config/config.js";
import { SILENT } from "../../../src/core/logger.js";
import { createGateway, type Gateway } from "../../../src/gateway/gateway.js";
import { objectAt, stringAt } from "../../../src/wire/json.js";
import { openedFeatures } from "../../support/features.js";
import { configOf } from "../../support/gateway.js";
import { TAKES_ALL } from "../../support/sample.js";
import {
  type Received,
  type RecordingServer,
  recordingServer,
} from "../../support/servers/recording-server.js";

let server: RecordingServer;
let gateway: Gateway;
const received: Received[] = [];

/** Production is forbidden in either; a rule of the odd ones forbids a tool that those of the even ones limit. */
function configAt(round: number): Config {
  const odd = round % 2 === 1;
  return configOf({
    mcpServers: { db: { type: "http", url: server.url } },
    policy: {
      rules: [
        { name: `no-prod-${round}`, tools: ["db__*"], when: "args.env == 'prod'", effect: "deny" },
        ...(odd ? [{ name: `no-flip-${round}`, tools: ["db__flip"], effect: "deny" }] : []),
      ],
    },
    limits: [{ name: "few", tools: ["db__few"], quota: "50/day" }],
  });
}

beforeAll(async () => {
  const offered = { tools: ["write", "flip", "few"] };
  server = await recordingServer("db", "modern", offered, async (it) => {
    received.push(it);
    await new Promise((resolve) => void setImmediate(resolve));
  });
  const features = await openedFeatures(configAt(0));
  gateway = createGateway(configAt(0), { logger: SILENT, version: "1", features });
  await gateway.start();
});
afterAll(async () => {
  await gateway.stop({ immediate: true });
  await server.close();
});

test("again and again under load", async () => {
  const rounds = TAKES_ALL ? 100 : 25;
  let going = true;
  const outcomes: Record<string, number> = {};
  const call = async (name: string, env: string): Promise<void> => {
    const reply = await gateway.call(`db__${name}`, { env });
    const meta = reply.kind === "result" ? objectAt(reply.result.object, "_meta") : undefined;
    const refusal = stringAt(objectAt(meta, "cardea/refusal"), "code");
    const what = refusal ?? (reply.kind === "result" ? "done" : reply.kind);
    outcomes[`${name} ${env}: ${what}`] = (outcomes[`${name} ${env}: ${what}`] ?? 0) + 1;
  };
  const workers = Array.from({ length: 8 }, async (_, at) => {
    while (going) {
      await call("write", at % 2 === 0 ? "prod" : "test");
      await call("flip", "test");
      await call("few", "test");
      // Refusals involve no I/O and would starve other calls.
      await new Promise((resolve) => void setImmediate(resolve));
    }
  });
  // Calls take as many rounds as they need: it continues until each outcome was seen once.
  const seenAll = (): boolean => Object.keys(outcomes).length >= 6;
  for (let round = 1; round <= rounds || !seenAll(); round += 1) {
    await gateway.reload(configAt(round));
    await new Promise((resolve) => void setImmediate(resolve));
  }
  going = false;
  await Promise.all(workers);

  const envs = received.map(({ params }) => objectAt(params, "arguments")?.env);
  expect(envs).not.toContain("prod");
  expect(Object.keys(outcomes).sort()).toEqual([
    "few test: done",
    "few test: rate_limited",
    "flip test: denied",
    "flip test: done",
    "write prod: denied",
    "write test: done",
  ]);
  // A limit that stays as it is continues with what it has.
  expect(outcomes["few test: done"]).toBe(50);
});
