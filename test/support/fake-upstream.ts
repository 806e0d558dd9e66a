/** A server behind the gateway, in memory: a test says what it lists and answers, when it fails and how long it takes. */
import type { Call, Freshness, Handler, Reply } from "../../src/core/call.js";
import type { Client } from "../../src/core/client.js";
import { GatewayError } from "../../src/core/errors.js";
import type { ListKind } from "../../src/core/lists.js";
import {
  type ListScope,
  type ResourceSubscriptions,
  type ServerFacts,
  type ServerList,
  SHARED_SCOPE,
  type Upstream,
  type UpstreamObserver,
  type UpstreamState,
} from "../../src/core/upstream.js";
import type { JsonObject } from "../../src/wire/json.js";
import { Payload } from "../../src/wire/payload.js";

/** What a list shows; `{ name }` is enough for a tool, `{ uri }` for a resource. */
type FakeLists = Partial<Record<ListKind, readonly JsonObject[]>>;

export interface FakeUpstreamOptions {
  /** Ready from the start with these facts; `starting` leaves it for `becomeReady`. Default: ready. */
  readonly state?: UpstreamState;
  readonly capabilities?: JsonObject;
  readonly serverInfo?: JsonObject;
  readonly instructions?: string;
  readonly lists?: FakeLists;
  /** Of every list that says nothing else. Default: `{ ttlMs: 0, scope: "private" }`, which the server does not say itself. */
  readonly freshness?: Freshness;
  /** The list scope of a client. Default: all share one. */
  readonly audience?: (client: Client) => ListScope;
  /** Default: it is kept running. */
  readonly startsOnDemand?: boolean;
}

/** How the server takes the next question for a list. */
type Mood =
  | { readonly kind: "well" }
  | { readonly kind: "slow"; readonly ms: number }
  | { readonly kind: "hanging" }
  | { readonly kind: "failing"; readonly error: GatewayError };

const PLAIN_CAPABILITIES: JsonObject = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
};

export class FakeUpstream implements Upstream {
  readonly name: string;
  /** Every call that reached it, in order. */
  readonly calls: Call[] = [];
  /** Every list it was asked for, as `KIND@AUDIENCE-KEY`, in order. */
  readonly listed: string[] = [];
  /** The URIs that are followed now, as `URI@AFFINITY` (`URI@` for the shared connection); one entry for each follow. */
  readonly followed: string[] = [];
  /** A test may replace them. */
  readonly resources: {
    subscribe: ResourceSubscriptions["subscribe"];
    subscriptionError?: NonNullable<ResourceSubscriptions["subscriptionError"]>;
  } = { subscribe: (uri, client) => this.#subscribe(uri, client) };
  /** The affinities that were released. */
  readonly released: string[] = [];
  state: UpstreamState;
  lastError: string | undefined;
  facts: ServerFacts | undefined;
  wasConnected = false;
  closed = false;
  /** The number of lookups while it was away, and their result. */
  sought = 0;
  whenSought: () => void = () => {};

  readonly #options: FakeUpstreamOptions;
  #capabilities: JsonObject;
  readonly #lists = new Map<string, readonly JsonObject[]>();
  readonly #freshness = new Map<ListKind, Freshness>();
  readonly #observers = new Set<UpstreamObserver>();
  readonly #moods = new Map<ListKind, Mood>();
  #answer: Handler = async (call) => resultReply({ method: call.method, params: call.params });

  constructor(name: string, options: FakeUpstreamOptions = {}) {
    this.name = name;
    this.#options = options;
    this.#capabilities = options.capabilities ?? PLAIN_CAPABILITIES;
    this.state = options.state ?? "ready";
    if (this.state === "ready") this.facts = this.#newFacts();
    this.wasConnected = this.state === "ready";
    for (const [kind, items] of Object.entries(options.lists ?? {})) this.#lists.set(`${kind}@`, items);
  }

  // ---- what a test says -----------------------------------------------------------------------------------

  /** Answers calls with `answer` from now on; the default echoes method and parameters. */
  answers(answer: (call: Call) => Reply | Promise<Reply>): this {
    this.#answer = async (call) => answer(call);
    return this;
  }

  /**
   * From now on `kind` lists `items`; with `audience` (a key or a class) for that audience only. Notifies no observer:
   * see `listChanged`.
   */
  setList(kind: ListKind, items: readonly JsonObject[], audience = ""): this {
    this.#lists.set(`${kind}@${audience}`, items);
    return this;
  }

  setFreshness(kind: ListKind, freshness: Freshness): this {
    this.#freshness.set(kind, freshness);
    return this;
  }

  /** The response to a list request: immediately, after `ms`, an error, or never (until it is cancelled). */
  well(...kinds: ListKind[]): this {
    return this.#take({ kind: "well" }, kinds);
  }
  slow(ms: number, ...kinds: ListKind[]): this {
    return this.#take({ kind: "slow", ms }, kinds);
  }
  hanging(...kinds: ListKind[]): this {
    return this.#take({ kind: "hanging" }, kinds);
  }
  failing(error?: GatewayError, ...kinds: ListKind[]): this {
    const why = error ?? new GatewayError("upstream_closed", "upstream", `${this.name} failed to list`);
    return this.#take({ kind: "failing", error: why }, kinds);
  }

  /** Opens a connection of `audience`: the shared one makes the server ready. */
  becomeReady(audience: ListScope = SHARED_SCOPE): void {
    if (audience.key === SHARED_SCOPE.key) {
      this.state = "ready";
      this.wasConnected = true;
      this.lastError = undefined;
      this.facts = this.#newFacts();
    }
    for (const observer of this.#observers) observer.ready?.(audience);
  }

  /** Is there again, as another server that offers `capabilities`. */
  comeBackWith(capabilities: JsonObject): void {
    this.#capabilities = capabilities;
    this.becomeReady();
  }

  /** Loses the shared connection; the supervisor waits before it tries again. */
  goDown(sentence = `${this.name} went away`): void {
    this.state = "backoff";
    this.lastError = sentence;
    const cause = new GatewayError("upstream_unavailable", "upstream", sentence, { retryable: true });
    for (const observer of this.#observers) observer.unavailable?.(cause);
  }

  /** Ends the shared connection because nothing uses it. */
  rest(): void {
    this.state = "idle";
    for (const observer of this.#observers) observer.rested?.();
  }

  listChanged(kind: ListKind, audience: ListScope = SHARED_SCOPE): void {
    for (const observer of this.#observers) observer.listChanged?.(kind, audience);
  }

  /** Without `audience` it is not known whose connection said so. */
  resourceUpdated(uri: string, audience?: ListScope): void {
    for (const observer of this.#observers) observer.resourceUpdated?.(uri, audience);
  }

  /** The number of observers; zero after all have closed. */
  get watchers(): number {
    return this.#observers.size;
  }

  // ---- Upstream ---------------------------------------------------------------------------------------------

  get startsOnDemand(): boolean {
    return this.#options.startsOnDemand ?? false;
  }

  isOpenFor(client: Client | undefined): boolean {
    return this.state === "ready" || (client !== undefined && this.listScope(client) !== SHARED_SCOPE);
  }

  readonly call: Handler = (call) => {
    this.calls.push(call);
    return this.#answer(call);
  };

  listScope(client: Client): ListScope {
    return this.#options.audience?.(client) ?? SHARED_SCOPE;
  }

  async list(
    kind: ListKind,
    client: Client | undefined,
    signal: AbortSignal,
    _before?: readonly JsonObject[],
  ): Promise<ServerList> {
    const audience = client === undefined ? SHARED_SCOPE : this.listScope(client);
    this.listed.push(`${kind}@${audience.key}`);
    await this.#endure(this.#moods.get(kind) ?? { kind: "well" }, signal);
    const items =
      this.#lists.get(`${kind}@${audience.key}`) ??
      this.#lists.get(`${kind}@${audience.capabilityClass}`) ??
      this.#lists.get(`${kind}@`) ??
      [];
    const freshness = this.#freshness.get(kind) ??
      this.#options.freshness ?? { ttlMs: 0, scope: "private" as const };
    // New objects each time, as a connection that parses each answer would give.
    const hasTtl = this.#freshness.has(kind) || this.#options.freshness !== undefined;
    return { items: structuredClone(items) as readonly JsonObject[], freshness, hasTtl };
  }

  #subscribe(uri: string, client: Client | undefined): () => void {
    const entry = `${uri}@${client?.affinity ?? ""}`;
    this.followed.push(entry);
    let following = true;
    return () => {
      if (!following) return;
      following = false;
      this.followed.splice(this.followed.indexOf(entry), 1);
    };
  }

  async connectNow(): Promise<void> {
    this.sought += 1;
    this.whenSought();
  }

  watch(observer: UpstreamObserver): () => void {
    this.#observers.add(observer);
    return () => this.#observers.delete(observer);
  }

  releaseClient(affinity: string): void {
    this.released.push(affinity);
  }

  async close(): Promise<void> {
    this.closed = true;
    this.state = "stopped";
  }

  #newFacts(): ServerFacts {
    const { serverInfo, instructions } = this.#options;
    return {
      capabilities: this.#capabilities,
      serverInfo: serverInfo ?? { name: this.name, version: "1.0.0" },
      ...(instructions !== undefined && { instructions }),
    };
  }

  #take(mood: Mood, kinds: readonly ListKind[]): this {
    const all: readonly ListKind[] = ["tools", "prompts", "resources", "resourceTemplates"];
    for (const kind of kinds.length === 0 ? all : kinds) this.#moods.set(kind, mood);
    return this;
  }

  async #endure(mood: Mood, signal: AbortSignal): Promise<void> {
    if (mood.kind === "failing") throw mood.error;
    if (mood.kind === "well") return;
    await new Promise<void>((resolve, reject) => {
      const timer = mood.kind === "slow" ? setTimeout(resolve, mood.ms) : undefined;
      signal.addEventListener("abort", () => {
        clearTimeout(timer);
        reject(new GatewayError("cancelled", "gateway", `nobody waits for ${this.name} any more`));
      });
    });
  }
}

export function fakeUpstream(name: string, options?: FakeUpstreamOptions): FakeUpstream {
  return new FakeUpstream(name, options);
}

/** A result reply that carries `result`, as an object or (as it comes from the wire) as text. */
export function resultReply(result: JsonObject, as: "object" | "text" = "object"): Reply {
  return {
    kind: "result",
    result: as === "object" ? Payload.ofObject(result) : Payload.ofText(JSON.stringify(result)),
  };
}

/** A client without a session that can be asked nothing, unless `over` says otherwise. */
export function fakeClient(over: Partial<Client> = {}): Client {
  return {
    principal: { id: "anonymous", groups: [], claims: {} },
    affinity: "anonymous",
    session: false,
    endpoint: "",
    capabilities: {},
    ...over,
  };
}

let calls = 0;

/** A call of `client`, with a signal that is never aborted and dropped notifications, unless `over` says otherwise. */
export function fakeCall(method: string, params: JsonObject = {}, over: Partial<Call> = {}): Call {
  return {
    id: ++calls,
    method,
    params,
    client: fakeClient(),
    signal: new AbortController().signal,
    notify: () => {},
    ...over,
  };
}
