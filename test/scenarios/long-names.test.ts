/** Names, URIs, ids, tokens, cursors and states of unreasonable length: refused where they come in, with what is wrong. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { UnexpectedStatus } from "../support/host/wires.mjs";
import type { Json } from "../support/peers/host.js";
import { UPSTREAMS, type UpstreamKind } from "../support/scripted/upstreams.js";
import { HOSTS, openHost, type ScenarioHost } from "./host.js";
import { openStage, type Stage } from "./stage.js";

const long = (length: number): string => "n".repeat(length);
const NAME = long(4_097);
const SEALED = long(131_073);

const REQUESTS: readonly (readonly [what: string, method: string, params: Json])[] = [
  ["the name of a tool", "tools/call", { name: NAME, arguments: {} }],
  ["the name of a prompt", "prompts/get", { name: NAME }],
  ["the URI of a resource", "resources/read", { uri: `file:///${NAME}` }],
  [
    "the URI of a completion",
    "completion/complete",
    { ref: { type: "ref/resource", uri: NAME }, argument: { name: "a", value: "" } },
  ],
  [
    "the argument of a completion",
    "completion/complete",
    { ref: { type: "ref/prompt", name: "p" }, argument: { name: NAME, value: "" } },
  ],
  ["a progress token", "tools/call", { name: "echo", arguments: {}, _meta: { progressToken: NAME } }],
  ["the id of a task", "tasks/get", { taskId: long(8_193) }],
  ["a cursor", "tools/list", { cursor: SEALED }],
  ["a state", "tools/call", { name: "echo", arguments: {}, requestState: SEALED }],
  ["the key of an answer", "tools/call", { name: "echo", arguments: {}, inputResponses: { [NAME]: {} } }],
  ["a method", NAME, {}],
  ["the name in a method that is not known", "vendor/run", { name: NAME }],
];

/** What the ledger has of requests of hosts; connections of the gateway itself begin and end at any time. */
const REQUESTS_OF_HOSTS = new Set(["begun", "working", "done", "cancelled", "refused", "heard"]);

let stage: Stage;
/** How many requests of hosts a server has had. */
const requestsAtServer = (): number =>
  stage
    .upstream(UPSTREAMS[0] as UpstreamKind)
    .ledger()
    .filter(({ event }) => REQUESTS_OF_HOSTS.has(event)).length;
beforeAll(async () => {
  stage = await openStage(UPSTREAMS.filter(({ transport }) => transport === "http"));
});
afterAll(() => stage.close());

describe.each(Object.values(HOSTS))("$name", (kind) => {
  let host: ScenarioHost;
  beforeAll(async () => {
    host = await openHost(stage, kind);
  });
  afterAll(() => host.leave());
  let last = 100;
  /** Over HTTP+SSE what is refused is answered at once, and nothing comes on the stream. */
  const send = (method: string, params: Json): Promise<Json> => {
    last += 1;
    return host.raw.send(last, method, params).catch((error: Error) => {
      if (!(error instanceof UnexpectedStatus) || error.status !== 400) throw error;
      return JSON.parse(error.body) as Json;
    });
  };

  test.each(REQUESTS)(
    "gets an error for %s that is too long, and no server gets the request",
    async (_, method, params) => {
      const before = requestsAtServer();
      const { error } = (await send(method, params)) as { error: { code: number; message: string } };
      expect([-32602, -32600]).toContain(error.code);
      expect(error.message).toMatch(/has \d+ characters, and may have \d+/);
      expect(requestsAtServer()).toEqual(before);
    },
  );

  test("may send long values, and names at the length limit", async () => {
    const text = long(100_000);
    const reply = await send("tools/call", { name: "modern-http__echo", arguments: { text, name: text } });
    expect(reply.error).toBeUndefined();
    const { error } = (await send("resources/read", { uri: `file:///${long(4_000)}` })) as { error?: Json };
    expect(error?.message).not.toMatch(/characters, and may/);
  });
});
