/** Roots beside the matrix: servers that rarely ask, hosts that refuse, prompts, states, more hosts than connections. */
import { describe, expect, test } from "vitest";
import type { Json } from "../../support/peers/host.js";
import { sample } from "../../support/sample.js";
import type { Mode } from "../../support/servers/remembering.mjs";
import { HOSTS, type Question, type ScenarioHost } from "../host.js";
import { answersOf, callAs, endsWithEachTest, openAs, rootsOf, stageOf, TRANSPORTS } from "./stage.js";

endsWithEachTest();

describe.each(sample("roots", TRANSPORTS, 1))("over %s", (transport) => {
  test("a server that never asks for roots keeps one connection for all hosts, and no host is asked", async () => {
    const stage = await stageOf(transport, "never");
    const hosts = await Promise.all([0, 1, 2, 3].map(() => openAs(stage, HOSTS.modernHttp, "")));
    const seen: unknown[] = [];
    for (const [index, host] of [...hosts, ...hosts].entries()) {
      const calling = host.call("it__where", {}, answersOf(`host-${index}`));
      seen.push(JSON.stringify((await calling.outcome).result));
      expect(calling.asked).toEqual([]);
    }
    expect(new Set(seen).size).toBe(1);
  });

  const IN_CALLS: readonly Mode[] = transport === "stdio" ? ["first", "call", "later"] : ["first", "call"];
  test.each(sample(`roots in calls over ${transport}`, IN_CALLS, 1))(
    "a server that asks for roots in calls that need them (%s) serves others without, and where it knows none",
    async (mode) => {
      const stage = await stageOf(transport, mode);
      const hosts = await Promise.all([0, 1].map(() => openAs(stage, HOSTS.modernHttp, "")));
      for (const [index, host] of [...hosts, ...hosts].entries()) {
        const name = `host-${index % 2}`;
        expect(await callAs(host, name, "roots")).toMatchObject({ roots: [`file:///${name}`] });
        const calling = host.call("it__touch", {}, answersOf(name));
        expect(JSON.stringify((await calling.outcome).result)).toContain('\\"knowsRoots\\":false');
        expect(calling.asked).toEqual([]);
      }
      const calling = (hosts[0] as ScenarioHost).call("it__roots", {}, answersOf("host-0"));
      await calling.outcome;
      expect(calling.asked.map(({ method }) => method)).toEqual(["roots/list"]);
    },
  );

  test("more hosts than a principal has connections see their own roots", async () => {
    const stage = await stageOf(transport, "start");
    const host = await openAs(stage, HOSTS.modernHttp, "");
    for (let index = 0; index < 10; index += 1) {
      expect(await callAs(host, `host-${index}`, "roots")).toMatchObject({
        roots: [`file:///host-${index}`],
      });
    }
  });

  test("a prompt is for the roots of its host too", async () => {
    const stage = await stageOf(transport, "first");
    for (const name of ["one", "two"]) {
      const { raw } = await openAs(stage, HOSTS.modernHttp, "");
      let id = 0;
      const { response } = await raw.converse(
        "prompts/get",
        { name: "it__roots" },
        (question) => answersOf(name)(question as unknown as Question),
        { idOf: () => ++id },
      );
      expect(JSON.stringify(response)).toContain(`file:///${name}`);
    }
  });

  test("a call runs once for the question that comes before it, however often its state is sent", async () => {
    const stage = await stageOf(transport, "first");
    const { raw } = await openAs(stage, HOSTS.modernHttp, "");
    for (let calls = 0; calls < 2; calls += 1)
      await callAs(await openAs(stage, HOSTS.modernHttp, "one"), "one", "roots");
    const params = { name: "it__roots", arguments: {} };
    const first = await raw.send("ask", "tools/call", params);
    expect(first.result).toMatchObject({ inputRequests: { roots: { method: "roots/list" } } });
    const { requestState } = first.result as Json;
    const again = { ...params, requestState, inputResponses: { roots: rootsOf("two") } };
    expect(JSON.stringify(await raw.send("run", "tools/call", again))).toContain("file:///two");
    const replayed = await raw.send("replay", "tools/call", again);
    expect(replayed).toMatchObject({ error: { data: { cardea: { code: "state_rejected" } } } });
    // An answer without a question is none.
    const made = { ...params, inputResponses: { roots: rootsOf("one") } };
    expect((await raw.send("made up", "tools/call", made)).result).toMatchObject({
      resultType: "input_required",
    });
  });

  test("a host that refuses to tell its roots does not get those of another", async () => {
    const stage = await stageOf(transport, "first", { entry: { lease: "principal" } });
    const [one, two] = [await openAs(stage, HOSTS.legacyHttp, ""), await openAs(stage, HOSTS.legacyHttp, "")];
    expect(await callAs(one, "one", "roots")).toMatchObject({ roots: ["file:///one"] });
    const refused = await two.call("it__roots", {}, () => {
      throw new Error("not today");
    }).outcome;
    expect(JSON.stringify(refused.result)).toContain("null");
  });

  test("a call that comes before any list waits for a slow start and a slow list", async () => {
    const stage = await stageOf(transport, "first", { isListed: false, delayMs: 800 });
    const hosts = [
      await openAs(stage, HOSTS.modernHttp, "host-0"),
      await openAs(stage, HOSTS.legacyHttp, "host-1"),
    ];
    const seen = await Promise.all(hosts.map((host, index) => callAs(host, `host-${index}`, "roots")));
    expect(seen.map(({ roots }) => roots)).toEqual([["file:///host-0"], ["file:///host-1"]]);
  });
});
