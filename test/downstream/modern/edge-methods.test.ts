/** What this edge answers itself, what it does not have, and what it passes on unknown. */
import { expect, test } from "vitest";
import { META } from "../../../src/wire/names.js";
import { echo, fakePort } from "../../support/fake-port.js";
import { modernRequest, send } from "../../support/http-host.js";
import { listening } from "../../support/listening.js";

test("server/discover has the introduction for this client", async () => {
  const introduction = {
    capabilities: { tools: { listChanged: true }, "x/y": {} },
    instructions: "Ask twice.",
  };
  const { url } = await listening({ gateway: fakePort({ introduction }) });
  const answer = await send(url, modernRequest("server/discover"));
  expect([answer.status, answer.json().result]).toEqual([
    200,
    {
      resultType: "complete",
      supportedVersions: ["2026-07-28"],
      ...introduction,
      ttlMs: 0,
      cacheScope: "private",
      _meta: { [META.serverInfo]: { name: "cardea", version: "0.0.0-test" } },
    },
  ]);
});

test.each(["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"])(
  "%s does not exist in this era, whatever the other has",
  async (method) => {
    const gateway = fakePort({ handlers: { [method]: echo } });
    const { url, legacy } = await listening({ gateway });
    const answer = await send(url, modernRequest(method, {}, { id: 500 }));
    const data = { cardea: { code: "unknown_target", retryable: false } };
    expect([answer.status, answer.json()]).toMatchObject([404, { id: 500, error: { code: -32601, data } }]);
    expect([gateway.calls, legacy.seen]).toEqual([[], []]);
  },
);

test("an unknown method goes to the gateway, and is -32601 if no server has it", async () => {
  const gateway = fakePort({ handlers: { "skills/list": echo } });
  const { url } = await listening({ gateway });
  expect((await send(url, modernRequest("skills/list"))).status).toBe(200);
  const answer = await send(url, modernRequest("unknown/method", {}, { id: 601 }));
  expect([answer.status, answer.json()]).toMatchObject([404, { id: 601, error: { code: -32601 } }]);
});
