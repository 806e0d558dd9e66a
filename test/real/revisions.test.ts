/** Hosts of every legacy revision: each is answered in its own, whatever the server behind the gateway speaks. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Fixture, startFixture } from "../support/fixture.js";
import { httpWire } from "../support/host/wires.mjs";
import { type MetGateway, metGateway } from "../support/met-gateway.js";
import type { Json } from "../support/peers/host.js";
import { openLegacy, type RawHost } from "../support/peers/raw.js";
import { type Recorded, tapHttp } from "../support/tap.mjs";
import { checkTraffic } from "../support/traffic.js";

const REVISIONS = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] as const;
/** The oldest revision has no official schema on npm; its answers are looked at, but not held against one. */
const WITH_SCHEMA: readonly string[] = REVISIONS.slice(0, 3);

const blocksOf = (response: Json): readonly Json[] =>
  ((response.result as Json | undefined)?.content ?? []) as readonly Json[];

describe.each(["legacy", "modern"] as const)("with a %s server", (era) => {
  let fixture: Fixture;
  let gateway: MetGateway;
  let tap: Awaited<ReturnType<typeof tapHttp>>;
  let recorded: Recorded[] = [];
  beforeAll(async () => {
    fixture = await startFixture(era, "http");
    gateway = await metGateway({ mcpServers: { fix: fixture.entry } });
    tap = await tapHttp(gateway.url, (message) => recorded.push(message));
  });
  afterAll(async () => {
    await tap.close();
    await gateway.stop();
    await fixture.stop();
  });

  describe.each(REVISIONS)("a host of %s", (revision) => {
    const call = (host: RawHost, id: number, name: string): Promise<Json> =>
      host.send(id, "tools/call", { name: `fix__${name}`, arguments: {} });

    test("gets every message in its own revision", async () => {
      recorded = [];
      const host = await openLegacy({ url: tap.url }, { revision });
      for (const list of ["tools", "prompts", "resources", "resourceTemplates"] as const) {
        expect((await host.list(list)).length, list).toBeGreaterThan(0);
      }
      for (const [id, name] of [
        "test_multiple_content_types",
        "test_resource_link",
        "test_error_handling",
      ].entries()) {
        await call(host, id, name);
      }
      await host.request("prompts/get", { name: "fix__test_prompt_with_image" });
      await host.request("resources/read", { uri: "fix+test://static-binary" });
      await host.request("resources/read", { uri: "fix+test://no-such-thing" });
      await host.send("progress", "tools/call", {
        name: "fix__test_tool_with_progress",
        arguments: {},
        _meta: { progressToken: 1 },
      });
      await host.close();
      const agreed = recorded
        .map(({ message }) => (message as Json).result as Json | undefined)
        .find((result) => result?.protocolVersion !== undefined);
      expect(agreed?.protocolVersion).toBe(revision);
      if (WITH_SCHEMA.includes(revision)) expect(checkTraffic(recorded, "server").wrong).toEqual([]);
    });

    test("gets a resource link, or text where its revision has no resource links", async () => {
      const host = await openLegacy({ url: gateway.url }, { revision });
      const [block] = blocksOf(await call(host, 1, "test_resource_link"));
      await host.close();
      expect(block?.type).toBe(revision >= "2025-06-18" ? "resource_link" : "text");
      expect(JSON.stringify(block)).toContain("test://static-text");
    });

    test("gets audio content, or a text note where its revision has no audio", async () => {
      const host = await openLegacy({ url: gateway.url }, { revision });
      const [block] = blocksOf(await call(host, 1, "test_audio_content"));
      await host.close();
      expect(block?.type).toBe(revision >= "2025-03-26" ? "audio" : "text");
    });

    test(revision === "2025-03-26" ? "may send a batch" : "may not send a batch", async () => {
      const wire = httpWire(gateway.url);
      await wire.exchange({
        jsonrpc: "2.0",
        id: 0,
        method: "initialize",
        params: { protocolVersion: revision, capabilities: {}, clientInfo: { name: "b", version: "1" } },
      });
      await wire.post({ jsonrpc: "2.0", method: "notifications/initialized" });
      const response = await fetch(gateway.url, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          "mcp-session-id": wire.session ?? "",
          "mcp-protocol-version": revision,
        },
        body: JSON.stringify([1, 2].map((id) => ({ jsonrpc: "2.0", id, method: "ping" }))),
      });
      const text = await response.text();
      await wire.close();
      if (revision === "2025-03-26") {
        expect(response.status).toBe(200);
        for (const id of [1, 2]) expect(text).toMatch(new RegExp(`"id":${id}\\b`));
      } else {
        expect(response.status).toBe(400);
      }
    });
  });
});

test("a host of an unknown revision is offered the newest legacy revision", async () => {
  const fixture = await startFixture("legacy", "http");
  const gateway = await metGateway({ mcpServers: { fix: fixture.entry } });
  const { message } = await httpWire(gateway.url).exchange({
    jsonrpc: "2.0",
    id: 0,
    method: "initialize",
    params: { protocolVersion: "1999-01-01", capabilities: {}, clientInfo: { name: "b", version: "1" } },
  });
  await gateway.stop();
  await fixture.stop();
  expect(message?.result).toMatchObject({ protocolVersion: "2025-11-25" });
});
