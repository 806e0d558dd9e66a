/** A gateway without servers: answers from a map of handlers, and reports changes on demand. */
import { type Call, CallIds, type Reply } from "../../src/core/call.js";
import type { Client } from "../../src/core/client.js";
import type { Change, ChangeFilter, GatewayApi, ServerDescription } from "../../src/core/gateway-api.js";
import { type JsonObject, stringAt } from "../../src/wire/json.js";
import { Payload } from "../../src/wire/payload.js";

export type FakeHandler = (call: Call) => Reply | Promise<Reply>;

export interface FakePortOptions {
  /** Answers by method; a method that is not there gets -32601. */
  readonly handlers?: Readonly<Record<string, FakeHandler>>;
  readonly introduction?: Partial<ServerDescription>;
  /** List entries of tools, by exposed name, for the header checks. */
  readonly tools?: Readonly<Record<string, JsonObject>>;
  readonly scopes?: readonly string[];
  /** URIs that can be followed; all of them when absent. */
  readonly followable?: readonly string[];
  /** Of those, the ones whose server is still to come. */
  readonly later?: readonly string[];
  /** Of those, the ones that their server will tell nothing of. */
  readonly refused?: readonly string[];
}

export interface FakePort extends GatewayApi {
  /** Every call that came, in order. */
  readonly calls: readonly Call[];
  /** The interests that are subscribed now. */
  readonly interests: readonly ChangeFilter[];
  /** Affinities that were forgotten. */
  readonly forgotten: readonly string[];
  /** Tells every subscriber whose interest covers it, as the change feed does. */
  publish(change: Change): void;
}

export function fakePort(options: FakePortOptions = {}): FakePort {
  const handlers = new Map(Object.entries(options.handlers ?? {}));
  const tools = new Map(Object.entries(options.tools ?? {}));
  const subscribers = new Set<{ readonly interest: ChangeFilter; readonly hear: (change: Change) => void }>();
  const calls: Call[] = [];
  const forgotten: string[] = [];
  const callIds = new CallIds();
  return {
    calls,
    forgotten,
    nextCallId: () => callIds.next(),
    get interests() {
      return [...subscribers].map(({ interest }) => interest);
    },
    async handle(call) {
      calls.push(call);
      const handler = handlers.get(call.method);
      return handler === undefined ? errorReply(-32601, `Method not found: ${call.method}`) : handler(call);
    },
    changes: {
      subscribe(_client: Client, interest, hear) {
        const subscriber = { interest, hear };
        subscribers.add(subscriber);
        return () => void subscribers.delete(subscriber);
      },
      followable: async (_client, uris) =>
        new Map(
          uris
            .filter((uri) => options.followable?.includes(uri) ?? true)
            .map((uri) => [uri, options.later?.includes(uri) ? ("later" as const) : ("now" as const)]),
        ),
      refusals: async (_client, uris) =>
        new Map(
          uris
            .filter((uri) => options.refused?.includes(uri))
            .map((uri) => [uri, { code: -32_602, message: "nobody is told of it" }]),
        ),
    },
    describe: async () => ({
      serverInfo: { name: "cardea", version: "0.0.0-test" },
      capabilities: { tools: { listChanged: true } },
      ...options.introduction,
    }),
    tool: (_client, name) => tools.get(name),
    hasEndpoint: (name) => options.scopes?.includes(name) ?? false,
    releaseClient: (affinity) => void forgotten.push(affinity),
    publish(change) {
      for (const { interest, hear } of subscribers) if (covers(interest, change)) hear(change);
    },
  };
}

const covers = (interest: ChangeFilter, change: Change): boolean =>
  change.kind === "list" ? interest.lists.has(change.list) : interest.resources.has(change.uri);

export const resultReply = (result: JsonObject): Reply => ({
  kind: "result",
  result: Payload.ofObject(result),
});

export const errorReply = (code: number, message: string, data?: unknown): Reply => ({
  kind: "error",
  error: data === undefined ? { code, message } : { code, message, data },
});

/** The result of a tool that says one thing. */
export const textReply = (text: string): Reply => resultReply({ content: [{ type: "text", text }] });

/** A tool that says its own name and arguments back. */
export const echo: FakeHandler = (call) =>
  textReply(`${stringAt(call.params, "name") ?? ""} ${JSON.stringify(call.params.arguments ?? {})}`);

/** A handler that waits until `answer` is called; `called` resolves with the call when it comes. */
export function pendingHandler(): {
  readonly handler: FakeHandler;
  readonly called: Promise<Call>;
  readonly answer: (reply: Reply) => void;
} {
  let arrived: (call: Call) => void = () => {};
  let settle: (reply: Reply) => void = () => {};
  const called = new Promise<Call>((resolve) => {
    arrived = resolve;
  });
  const reply = new Promise<Reply>((resolve) => {
    settle = resolve;
  });
  return {
    called,
    answer: (value) => settle(value),
    handler: (call) => {
      arrived(call);
      return reply;
    },
  };
}
