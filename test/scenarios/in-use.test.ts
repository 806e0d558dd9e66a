/** What the status pages say of a server whose shared process has ended while hosts have processes of their own. */
import { afterEach, expect, test } from "vitest";
import type { Json } from "../support/peers/host.js";
import { UPSTREAMS } from "../support/scripted/upstreams.js";
import { HOSTS, openHost } from "./host.js";
import { openStage, type Stage } from "./stage.js";

const onPipe = UPSTREAMS.filter(({ era, transport }) => era === "legacy" && transport === "stdio");
let stage: Stage | undefined;
afterEach(() => stage?.close());

const stateOf = async (of: Stage, name: string): Promise<readonly unknown[]> => {
  const [rows, status] = await Promise.all([of.status("servers"), of.status("status")]);
  const listed = (status as { readonly servers: readonly Json[] }).servers;
  return [rows as readonly Json[], listed].map((all) => all.find((row) => row.name === name)?.state);
};

test.each([HOSTS.legacyHttp, HOSTS.legacyStdio, HOSTS.legacySse, HOSTS.modernHttp, HOSTS.modernStdio])(
  "a server is ready, and up, while $name uses a process of its own",
  async (kind) => {
    stage = await openStage(onPipe);
    const key = "legacy-stdio";
    const host = await openHost(stage, kind);
    await host.call(`${key}__form`, {}, () => ({ action: "decline" })).outcome;
    expect(await stateOf(stage, key)).toEqual(["ready", "ready"]);
    expect(await stage.metric("cardea_upstream_up")).toBe(1);
  },
);
