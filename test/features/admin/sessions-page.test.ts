/** Which hosts `/api/v1/sessions` shows: sessions of the legacy era, and modern hosts, which have none. */
import { expect, test } from "vitest";
import { HOSTS, openHost } from "../../scenarios/host.js";
import { openStage } from "../../scenarios/stage.js";
import { UPSTREAMS } from "../../support/scripted/upstreams.js";

test.each(Object.values(HOSTS).map((kind) => [kind.name, kind] as const))(
  "%s is shown with its era and its principal",
  async (_name, kind) => {
    const stage = await openStage(UPSTREAMS.slice(0, 1));
    const host = await openHost(stage, kind);
    await host.call("echo", { text: "hello" }).outcome;
    const row = { principal: expect.any(String), era: kind.era, scope: "", ageSeconds: expect.any(Number) };
    expect(await stage.status("sessions")).toEqual([
      expect.objectContaining({ ...row, idleSeconds: expect.any(Number) }),
    ]);
    await stage.close();
  },
);
