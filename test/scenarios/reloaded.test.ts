/** A server whose entry in the config changes while persons are asked in calls to it. */
import { expect, test } from "vitest";
import type { Json } from "../support/peers/host.js";
import { eachValue } from "../support/sample.js";
import { UPSTREAMS } from "../support/scripted/upstreams.js";
import { HOSTS, openHost } from "./host.js";
import { openStage } from "./stage.js";

/** Of both eras, one of them on a pipe: the change is another one there. */
const DRAWN = eachValue("reloaded", UPSTREAMS, ({ era, transport }) => [era, transport === "stdio"]);

test.each(DRAWN.map((upstream) => [upstream.name, upstream] as const))(
  "each kind of host answers the question of %s, and its call ends as if nothing had changed",
  async (_name, upstream) => {
    const stage = await openStage([upstream]);
    let give: (answer: Json) => void = () => {};
    const answer = new Promise<Json>((resolve) => {
      give = resolve;
    });
    const askings = [];
    for (const kind of Object.values(HOSTS)) {
      const host = await openHost(stage, kind);
      const asking = host.call(`${upstream.key}__form`, { label: kind.key }, () => answer);
      await asking.whenAsked();
      askings.push([kind.key, asking] as const);
    }
    await stage.reload(
      upstream.transport === "stdio" ? { env: { CHANGED: "yes" } } : { headers: { "x-changed": "yes" } },
    );
    give({ action: "accept", content: { it: "yes" } });
    for (const [key, asking] of askings) {
      const { result } = await asking.outcome;
      expect([key, result]).not.toEqual([key, expect.objectContaining({ isError: true })]);
      expect([key, JSON.stringify(result)]).toEqual([key, expect.stringContaining("accept")]);
    }
    await stage.close();
  },
);
