/** What no call may make (ARCHITECTURE.md, "The hot path"), counted while calls go through the whole gateway. */
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { gatewayOf } from "../support/gateway.js";
import { modernRequest, type Sent, send } from "../support/http-host.js";
import { startUpstream, UPSTREAMS } from "../support/scripted/upstreams.js";

const NEVER_MADE = [
  "fetch",
  "Request",
  "Response",
  "Headers",
  "ReadableStream",
  "WritableStream",
  "TransformStream",
  "AbortController",
] as const;

afterEach(() => void vi.unstubAllGlobals());

/** Notes from now on what is called or constructed of `NEVER_MADE`, except what the scripted servers make. */
function counted(): readonly string[] {
  const made: string[] = [];
  const note = (name: string): void => {
    if (new Error(name).stack?.includes("/support/scripted/") !== true) made.push(name);
  };
  for (const name of NEVER_MADE) {
    const real = globalThis[name] as unknown as new (...args: unknown[]) => object;
    const counting = new Proxy(real, {
      construct(target, args, newTarget) {
        note(name);
        return Reflect.construct(target, args, newTarget) as object;
      },
      apply(target, self, args) {
        note(name);
        return Reflect.apply(target as unknown as (...given: unknown[]) => unknown, self, args);
      },
    });
    vi.stubGlobal(name, counting);
  }
  return made;
}

/** A gateway in front of one scripted server, and how it is called. */
async function gatewayTo(kind: (typeof UPSTREAMS)[number]) {
  const upstream = await startUpstream(kind);
  onTestFinished(() => upstream.stop());
  const listen = { http: { port: 0 }, admin: { port: 0 } };
  const gateway = await gatewayOf({ listen, mcpServers: { one: upstream.entry } });
  const { url } = await gateway.start();
  onTestFinished(() => gateway.stop({ immediate: true }));
  await gateway.lists("tools");
  const params = { name: "one__echo", arguments: { text: "here" } };
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const legacy = (session: string): Sent => ({
    headers: { ...headers, "mcp-session-id": session, "mcp-protocol-version": "2025-11-25" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 2, method: "tools/call", params }),
  });
  const opening = {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "h", version: "1" },
  };
  const opened = await send(url, {
    headers,
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: opening }),
  });
  const requests = {
    legacy: legacy(String(opened.headers["mcp-session-id"])),
    modern: modernRequest("tools/call", params),
  };
  return async (era: "legacy" | "modern") => (await send(url, requests[era])).text;
}

test.each(UPSTREAMS.filter(({ transport }) => transport !== "sse"))(
  "a call to $name creates no objects of the web platform",
  async (kind) => {
    const call = await gatewayTo(kind);
    for (const era of ["legacy", "modern"] as const) expect(await call(era)).toContain("here");
    const made = counted();
    for (const era of ["legacy", "modern"] as const) expect(await call(era)).toContain("here");
    expect(made).toEqual([]);
  },
);

test("the check counts created objects of the web platform", () => {
  const made = counted();
  void new AbortController();
  void new Response("");
  expect(made).toContain("AbortController");
  expect(made).toContain("Response");
});
