/** Error codes that one era has and the other has not. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { UPSTREAMS } from "../support/scripted/upstreams.js";
import { HOSTS, type HostKind, openHost, type ScenarioHost } from "./host.js";
import { openStage, type Stage } from "./stage.js";

const kinds: readonly HostKind[] = Object.values(HOSTS);

describe.each(kinds.map((kind) => [kind.name, kind] as const))("%s", (_name, kind) => {
  let stage: Stage;
  let host: ScenarioHost;
  beforeAll(async () => {
    stage = await openStage(UPSTREAMS);
    host = await openHost(stage, kind);
  });
  afterAll(() => stage.close());

  test.each(UPSTREAMS.map(({ name, key }) => [name, key] as const))(
    "gets the resource-not-found error of its own revision, with the URI of its request: %s",
    async (_server, key) => {
      const uri = `${key}+memo://nowhere`;
      const response = await host.raw.send(`read ${key}`, "resources/read", { uri });
      expect(response.error).toMatchObject({
        code: kind.era === "legacy" ? -32_002 : -32_602,
        message: "there is no such resource",
        data: { uri },
      });
    },
  );
});
