/** A trace whose calls come to several workers is one conversation. */
import { afterAll, expect } from "vitest";
import { testOf } from "../../support/features.js";
import { recordingServer } from "../../support/servers/recording-server.js";
import { callModern, codeIn, serveByTwo } from "./two-workers.js";

const test = testOf("flow", "workers");

const ends: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const end of ends) await end();
});

/** Of which each call comes to any worker: all would come to one with a chance of 1 in 4,096. */
const TRACES = 6;

test("what sends is refused after what other workers have read in its trace, and in no other trace", async () => {
  const sent: string[] = [];
  const server = await recordingServer("all", "modern", { tools: ["read", "get", "send"] }, ({ params }) => {
    if (params.name === "send") sent.push("send");
  });
  ends.push(() => server.close());
  const flows = { read: { reads: "private" }, get: { content: "untrusted" }, send: { sends: "external" } };
  const { url } = await serveByTwo((end) => ends.unshift(end), {
    mcpServers: {
      all: {
        ...{ type: "http", url: server.url, prefix: "" },
        overrides: Object.fromEntries(Object.entries(flows).map(([tool, flow]) => [tool, { flow }])),
      },
    },
    policy: { flow: [{ name: "leak", after: ["private", "untrusted"], sends: "external", effect: "deny" }] },
  });
  const call = (name: string, trace: number) =>
    callModern(url, {
      ...{ name, arguments: {} },
      _meta: { traceparent: `00-${String(trace).padStart(32, "a")}-00f067aa0ba902b7-01` },
    });
  const outcomes: unknown[] = [];
  for (let trace = 1; trace <= TRACES; trace += 1) {
    await call("read", trace);
    await call("get", trace);
    outcomes.push(codeIn(await call("send", trace)));
    await call("read", trace + 1_000);
    outcomes.push(codeIn(await call("send", trace + 1_000)));
  }
  expect(outcomes).toEqual(Array.from({ length: TRACES }, () => ["denied", undefined]).flat());
  expect(sent).toHaveLength(TRACES);
});
