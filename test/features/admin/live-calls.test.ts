/** The pages and the stream of live calls, over the admin listener of a gateway with a scripted server. */
import { expect, onTestFinished, test } from "vitest";
import { gatewayOf, listening } from "../../support/gateway.js";
import { startUpstream, UPSTREAMS } from "../../support/scripted/upstreams.js";

interface Row {
  readonly [member: string]: unknown;
  readonly ms: Readonly<Record<string, number>>;
}

async function started(admin: object = {}) {
  const [kind] = UPSTREAMS;
  if (kind === undefined) throw new Error("there is no scripted server");
  const upstream = await startUpstream(kind);
  onTestFinished(() => upstream.stop());
  const listen = { http: { port: 0 }, admin: { port: 0, ...admin } };
  const gateway = await gatewayOf({ listen, mcpServers: { one: upstream.entry } });
  const { adminUrl } = await listening(gateway);
  onTestFinished(() => gateway.stop({ immediate: true }));
  await gateway.lists("tools");
  const page = async (path: string) => (await (await fetch(`${adminUrl}/api/v1/${path}`)).json()) as Row[];
  return { gateway, adminUrl, page };
}

/** The events of a stream of calls, one at a time. */
async function eventsOf(url: string): Promise<() => Promise<string>> {
  const response = await fetch(url);
  expect(response.headers.get("content-type")).toBe("text/event-stream");
  const reader = response.body?.getReader();
  if (reader === undefined) throw new Error("the response has no body");
  onTestFinished(() => reader.cancel().catch(() => {}));
  const decoder = new TextDecoder();
  let text = "";
  return async () => {
    while (!text.includes("\n\n")) {
      const { value, done } = await reader.read();
      if (done) return "the end";
      text += decoder.decode(value, { stream: true });
    }
    const end = text.indexOf("\n\n");
    const event = text.slice(0, end);
    text = text.slice(end + 2);
    return event;
  };
}

test("a call is a row with its outcome and timing", async () => {
  const { gateway, page } = await started();
  await gateway.call("one__echo", { text: "here" });
  const [row] = await page("calls");
  expect(row).toMatchObject({
    principal: "anonymous",
    method: "tools/call",
    target: "one__echo",
    server: "one",
    outcome: "ok",
  });
  expect(row?.ms.upstream).toBeGreaterThan(0);
  expect(row?.ms.total).toBeGreaterThanOrEqual(row?.ms.upstream ?? Number.POSITIVE_INFINITY);
  expect(JSON.stringify(row)).not.toContain("here");
});

test.each([
  ["server=one&outcome=ok", ["one__echo", "one__echo"]],
  ["limit=1", ["one__nothing"]],
  ["tool=one__nothing", ["one__nothing"]],
  ["principal=someone", []],
])("calls are filtered by %s", async (query, targets) => {
  const { gateway, page } = await started();
  await gateway.call("one__echo", { text: "a" });
  await gateway.call("one__echo", { text: "b" });
  await gateway.call("one__nothing", {});
  expect((await page(`calls?${query}`)).map(({ target }) => target)).toEqual(targets);
});

test("an invalid limit is an error that names the valid range", async () => {
  const { page } = await started();
  expect(await page("calls?limit=many")).toEqual({ error: "limit=… is a whole number from 1 to 1000" });
});

test("arguments and results are shown if configured, redacted and truncated", async () => {
  const { gateway, page } = await started({ showArguments: true });
  await gateway.call("one__echo", { text: "here".repeat(5000) });
  const [row] = await page("calls");
  expect(row?.arguments).toMatch(/^\{"text":"here/);
  expect(row?.arguments).toHaveLength(2000);
  expect(row?.result).toContain("here");
});

test("the stream sends each matching call when it ends, until the listener closes", async () => {
  const { gateway, adminUrl } = await started();
  const next = await eventsOf(`${adminUrl}/api/v1/calls/stream?tool=one__echo`);
  expect(await next()).toBe(": calls as they end");
  await gateway.call("one__nothing", {});
  await gateway.call("one__echo", { text: "here" });
  const event = await next();
  expect(event).toMatch(/^event: call\ndata: \{/);
  expect(JSON.parse(event.slice("event: call\ndata: ".length))).toMatchObject({ target: "one__echo" });
  await gateway.stop({ immediate: true });
  await expect(next()).rejects.toThrow();
});

test("the pages of running calls and of the last hour respond before the first call", async () => {
  const { page } = await started();
  expect(await page("calls/running")).toEqual([]);
  expect(await page("history")).toMatchObject({ step: 10_000 });
});
