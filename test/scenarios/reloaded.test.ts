/** A server whose entry in the config changes while a person is asked in a call to it. */
import { expect, test } from "vitest";
import type { Json } from "../support/peers/host.js";
import { UPSTREAMS } from "../support/scripted/upstreams.js";
import { HOSTS, openHost } from "./host.js";
import { openStage } from "./stage.js";

const pairs = Object.values(HOSTS).flatMap((host) =>
  UPSTREAMS.map((upstream) => [host.name, upstream.name, host, upstream] as const),
);

test.each(pairs)(
  "%s answers the question of %s, and the call ends as if nothing had changed",
  async (_h, _u, kind, upstream) => {
    const stage = await openStage([upstream]);
    const host = await openHost(stage, kind);
    let give: (answer: Json) => void = () => {};
    const answer = new Promise<Json>((resolve) => {
      give = resolve;
    });
    const asking = host.call(`${upstream.key}__form`, { label: "reloaded" }, () => answer);
    await asking.whenAsked();
    await stage.reload(
      upstream.transport === "stdio" ? { env: { CHANGED: "yes" } } : { headers: { "x-changed": "yes" } },
    );
    give({ action: "accept", content: { it: "yes" } });
    const { result } = await asking.outcome;
    expect(result).not.toHaveProperty("isError", true);
    expect(JSON.stringify(result)).toContain("accept");
    await stage.close();
  },
);
