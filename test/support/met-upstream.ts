/** An upstream in front of a fake server, as the gateway would hold it, and clients that call it. */
import { onTestFinished } from "vitest";
import type { ServerConfig } from "../../src/config/config.js";
import type { Call, Notice, Reply } from "../../src/core/call.js";
import { ANONYMOUS, type Client, type ClientDirectory } from "../../src/core/client.js";
import { GatewayError } from "../../src/core/errors.js";
import type { ListScope, UpstreamObserver } from "../../src/core/upstream.js";
import type { QuestionSettings } from "../../src/upstream/legacy/settings.js";
import type {
  GatewayIdentity,
  LifecycleOptions,
  UpstreamObservers,
  UpstreamOptions,
} from "../../src/upstream/supervision/options.js";
import { createUpstream, type StartableUpstream } from "../../src/upstream/upstream.js";
import type { JsonObject } from "../../src/wire/json.js";
import { type FakeServer, serverConfig } from "./fake-channel.js";

const NOBODY: ClientDirectory = { find: () => undefined };

export interface Met {
  readonly server: FakeServer;
  readonly upstream: StartableUpstream;
  /** The notifications of its observer, one line each. */
  readonly heard: string[];
}

/** The options that tests set, whatever part of `UpstreamOptions` they belong to. */
export interface TestOptions
  extends Partial<Omit<GatewayIdentity, "info">>,
    Partial<QuestionSettings>,
    LifecycleOptions,
    UpstreamObservers,
    Pick<UpstreamOptions, "log" | "redact" | "memory" | "others"> {}

export function upstreamFor(
  server: FakeServer,
  config: Partial<ServerConfig> = {},
  options: TestOptions = {},
): Met {
  const upstream = createUpstream(serverConfig(config), {
    gateway: { info: { name: "cardea", version: "1.2.3" }, ...options },
    questions: { directory: NOBODY, ...options },
    lifecycle: { openChannel: server.openChannel, random: () => 0.5, ...options },
    observers: options,
    ...options,
  });
  const heard: string[] = [];
  upstream.watch(recorder(heard));
  return { server, upstream, heard };
}

/** The same, started, and ready. It is closed when the test is over. */
export async function meet(...args: Parameters<typeof upstreamFor>): Promise<Met> {
  const met = upstreamFor(...args);
  const ready = new Promise<void>((resolve, reject) => {
    met.upstream.watch({
      ready: () => resolve(),
      unavailable: reject,
    });
  });
  onTestFinished(() => met.upstream.close());
  met.upstream.start();
  await ready;
  return met;
}

function recorder(heard: string[]): UpstreamObserver {
  const at = (audience: ListScope | undefined): string => (audience === undefined ? "" : ` @${audience.key}`);
  return {
    ready: (audience) => heard.push(`ready${at(audience)}`),
    listChanged: (kind, audience) => heard.push(`${kind}${at(audience)}`),
    resourceUpdated: (uri, audience) => heard.push(`updated ${uri}${at(audience)}`),
    unavailable: (cause) => heard.push(`unavailable: ${cause.message}`),
  };
}

let lastClient = 0;

export function client(changes: Partial<Client> = {}): Client {
  lastClient += 1;
  return {
    principal: ANONYMOUS,
    affinity: `client-${lastClient}`,
    session: false,
    endpoint: "",
    capabilities: {},
    ...changes,
  };
}

export interface Calling {
  readonly call: Call;
  readonly notices: Notice[];
  readonly giveUp: (reason?: unknown) => void;
}

/** A `tools/call` of `echo` by a client of its own, unless `changes` say otherwise. */
export function calling(changes: Partial<Call> = {}): Calling {
  const controller = new AbortController();
  const notices: Notice[] = [];
  const call: Call = {
    id: 1,
    method: "tools/call",
    params: { name: "echo", arguments: {} },
    client: client(),
    signal: controller.signal,
    notify: (notice) => notices.push(notice),
    ...changes,
  };
  return { call, notices, giveUp: (reason) => controller.abort(reason) };
}

/** The result of a reply that must be one. */
export function resultOf(reply: Reply): JsonObject {
  if (reply.kind !== "result") throw new Error(`expected a result, got ${JSON.stringify(reply)}`);
  return reply.result.object;
}

/** The GatewayError that `promise` must reject with. */
export async function failure(promise: Promise<unknown>): Promise<GatewayError> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
  throw new Error("expected a failure");
}

/** Lets everything happen that waits for nothing but its turn. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 50; turn += 1) await Promise.resolve();
}
