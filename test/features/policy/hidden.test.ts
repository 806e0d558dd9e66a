/** Calls of what is hidden: nothing to those who make them, and plain to operators. */
import "../admin/needed.js";
import { expect, onTestFinished, test } from "vitest";
import { HOSTS, openHost } from "../../scenarios/host.js";
import { openStage } from "../../scenarios/stage.js";
import { UPSTREAMS } from "../../support/scripted/upstreams.js";

test.each([
  ["a tool", "tools/call", "name", "legacy-http__echo", "legacy-http__ecco"],
  ["a tool by its own name", "tools/call", "name", "echo", "ecco"],
  ["a resource", "resources/read", "uri", "legacy-http+memo://secret", "legacy-htxp+memo://secret"],
])(
  "a call of %s that is hidden is counted and listed, one of what is not there is not",
  async (_, method, key, hidden, missing) => {
    const kinds = UPSTREAMS.filter(({ key: server }) => server === "legacy-http");
    const rules = [{ name: "out-of-sight", tools: ["*__echo"], resources: ["*secret"], effect: "hide" }];
    const stage = await openStage(kinds, { config: { policy: { rules } } });
    onTestFinished(() => stage.close());
    const { raw } = await openHost(stage, HOSTS.modernHttp);
    const call = async (target: string) =>
      JSON.stringify((await raw.send(1, method, { [key]: target })).error).replaceAll(target, "");
    const answer = await call(missing);
    expect(answer).toContain("unknown_target");
    expect(await stage.metric("cardea_policy_decisions_total")).toBe(0);
    expect(await call(hidden)).toBe(answer);
    expect(await stage.metric("cardea_policy_decisions_total")).toBe(1);
    expect(JSON.stringify(await stage.status("decisions"))).toMatch(/"effect":"hide","rule":"out-of-sight"/);
  },
);
