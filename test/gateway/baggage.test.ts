/** What hosts say in `baggage` ends at the gateway, unless the config forwards it (W3C Baggage, "Security Considerations"). */
import { expect, test } from "vitest";
import { withoutBaggage } from "../../src/core/trace-context.js";
import { modernRequest } from "../support/http-host.js";
import { HOSTS, openGateway } from "../support/open-gateway.js";

const TOOLS = [{ name: "say", inputSchema: { type: "object" } }];
const SERVERS = { s: { tools: TOOLS }, l: { tools: TOOLS, era: "legacy" } } as const;
const CONTEXT = {
  traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
  tracestate: "vendor=1",
};
const metaOf = (body: string | undefined): object => JSON.parse(body ?? "").params._meta;

test.each(HOSTS.flatMap((host) => ["s", "l"].map((server) => ({ ...host, server }))))(
  "a $era host over $door: the server $server gets the trace context of a call, and no baggage",
  async ({ server, ...kind }) => {
    const { host, received } = await openGateway(SERVERS);
    const raw = await host(kind);
    const _meta = { ...CONTEXT, baggage: "user=ann", "example.com/own": 1 };
    await raw.request("tools/call", { name: `${server}__say`, arguments: {}, _meta });
    expect(metaOf(received.at(-1)?.body)).toMatchObject({ ...CONTEXT, "example.com/own": 1 });
    expect(metaOf(received.at(-1)?.body)).not.toHaveProperty("baggage");
  },
);

test("baggage is forwarded if configured", async () => {
  const { host, received } = await openGateway(SERVERS, { telemetry: { baggage: "forward" } });
  for (const kind of HOSTS) {
    const raw = await host(kind);
    for (const server of ["s", "l"]) {
      await raw.request("tools/call", { name: `${server}__say`, arguments: {}, _meta: { baggage: "a=1" } });
      expect(metaOf(received.at(-1)?.body)).toMatchObject({ baggage: "a=1" });
    }
  }
});

test("the headers traceparent, tracestate and baggage of a host's HTTP request reach no server as headers", async () => {
  const { fetch, received } = await openGateway(SERVERS, { telemetry: { baggage: "forward" } });
  const headers = { ...CONTEXT, baggage: "user=ann" };
  const { body, headers: own } = modernRequest("tools/call", { name: "s__say", arguments: {} }, { headers });
  expect((await fetch("", { method: "POST", body, headers: { ...own } })).status).toBe(200);
  const sent = received.at(-1);
  for (const name of ["baggage", "traceparent", "tracestate"]) expect(sent?.headers[name]).toBeUndefined();
  expect(sent?.body).not.toContain("user=ann");
});

test.each([
  [{ _meta: { baggage: "a=1" } }, {}],
  [
    { _meta: { baggage: "a=1", traceparent: "00-1" }, more: 1 },
    { _meta: { traceparent: "00-1" }, more: 1 },
  ],
])("of the parameters of a notification, %j, %j is left", (sent, left) => {
  expect(withoutBaggage(sent)).toEqual(left);
});

test("parameters without baggage stay the same object", () => {
  const params = { _meta: { traceparent: "00-1" }, baggage: "an argument of this name" };
  expect(withoutBaggage(params)).toBe(params);
});
