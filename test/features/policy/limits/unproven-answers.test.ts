/** Answers that no question asked for give a call no place before others, at limits and at servers. */
import { expect, onTestFinished, test } from "vitest";
import { HOSTS, openHost } from "../../../scenarios/host.js";
import { openStage } from "../../../scenarios/stage.js";
import type { Json } from "../../../support/peers/host.js";
import { openLegacy } from "../../../support/peers/raw.js";
import { sample } from "../../../support/sample.js";
import { countOf } from "../../../support/scripted/ledger.js";
import { UPSTREAMS } from "../../../support/scripted/upstreams.js";
import { until } from "../../../support/until.js";

/** The places at a server without limits in the config, and at the limit below. */
const [AT_SERVER, AT_LIMIT] = [32, 3];
const CLAIMS: readonly Json[] = [
  { inputResponses: {} },
  { inputResponses: { one: { action: "accept", content: {} } } },
  { inputResponses: { "cardea/approval": { action: "accept" } } },
  { inputResponses: { "cardea/sign-in": { action: "accept" }, roots: { roots: [] } } },
];
const FORGED: readonly string[] = ["", "cardea4.", "cardea4.AAAA", "0-cardea4.AAAA", "a state of ours"];

const kind = UPSTREAMS.find(({ key }) => key === "legacy-http");
if (kind === undefined) throw new Error("there is no such server");
const LIMITED = { limits: [{ tools: ["*__take_back"], concurrency: AT_LIMIT, queue: 200, per: "all" }] };

const QUEUES = [
  ["a modern host over HTTP", "a limit", AT_LIMIT, LIMITED, HOSTS.modernHttp],
  ["a modern host on a pipe", "a limit", AT_LIMIT, LIMITED, HOSTS.modernStdio],
  // Over HTTP the host of the tests has fewer connections than the server has places.
  ["a modern host on a pipe", "the server", AT_SERVER, {}, HOSTS.modernStdio],
] as const;

test.each(sample("queues", QUEUES, 1))(
  "of %s do not pass the queue of %s",
  async (_host, _where, places, config, host) => {
    const stage = await openStage([kind], { config });
    onTestFinished(() => stage.close());
    const { raw } = await openHost(stage, host, { capabilities: {} });
    const name = `${kind.key}__take_back`;
    const labels = Array.from({ length: places + 8 }, (_, at) => `call ${at}`);
    const begun = () =>
      labels.filter((label) => countOf(stage.upstream(kind).ledger(), "begun", label) > 0).length;
    const replies = labels.map((label, at) =>
      raw.send(label, "tools/call", { name, arguments: { label }, ...CLAIMS[at % CLAIMS.length] }),
    );
    await until("the places to be taken", () => begun() >= places);
    // A call that is refused at once comes after all that were sent before it.
    const [forged = ""] = FORGED;
    const refused = { name, arguments: { label: "x" }, inputResponses: {}, requestState: `${forged}x` };
    expect(JSON.stringify(await raw.send("x", "tools/call", refused))).toContain("state_rejected");
    expect(begun()).toBe(places);
    // Past the gateway, whose places are all taken.
    const { url } = stage.upstream(kind).entry as { readonly url: string };
    const direct = await openLegacy({ url });
    for (const label of labels) {
      await until(`${label} to run`, () => countOf(stage.upstream(kind).ledger(), "begun", label) > 0);
      await direct.call("let_go", { label });
    }
    expect((await Promise.all(replies)).every(({ error }) => error === undefined)).toBe(true);
  },
);

test.each(sample("forged states", FORGED, 2))(
  "with the state %j are refused before the server gets the call",
  async (requestState) => {
    const stage = await openStage([kind]);
    onTestFinished(() => stage.close());
    const { raw } = await openHost(stage, HOSTS.modernHttp);
    const name = `${kind.key}__echo`;
    const params = { name, arguments: { label: "x" }, inputResponses: {}, requestState };
    expect(JSON.stringify(await raw.send(1, "tools/call", params))).toContain("state_rejected");
    expect(countOf(stage.upstream(kind).ledger(), "begun", "x")).toBe(0);
  },
);
