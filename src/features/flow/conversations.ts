/** What has each conversation touched? A session is one, a trace of a host without a session, and a pipe. */
import { LRUCache } from "lru-cache";
import type { Call } from "../../core/call.js";
import type { Principal } from "../../core/client.js";
import { isIdentified } from "../../core/fair-share.js";
import { principalKey } from "../../core/principal.js";
import type { FeatureMessages } from "../../core/replicas.js";
import { readContext } from "../../core/trace-context.js";
import { entryLimit } from "../../runtime/cache-limits.js";
import { type JsonObject, objectAt } from "../../wire/json.js";
import type { Touched } from "./section.js";

/** More than a process has sessions. */
const MAX_SESSIONS = 20_000;
const MAX_TRACES = 10_000;
const MAX_TRACES_OF_PRINCIPAL = 1_000;
/** How long (ms) a trace is remembered without a call. */
const TRACE_MS = 86_400_000;
/** Names of targets for each label; they are for sentences. */
const MAX_SOURCES = 3;

/** One conversation. */
export interface Conversation {
  /** Which targets touched it, the first ones; absent while none has. */
  private?: readonly string[];
  untrusted?: readonly string[];
  /** The rules that were logged in it. */
  readonly logged: Set<string>;
}

interface Trace extends Conversation {
  /** `performance.now()` of its last call. */
  usedAt: number;
}

/** How much is known of the conversation of a call. */
export interface KnownConversation {
  /** Undefined while it has touched nothing that is known. */
  readonly conversation: Conversation | undefined;
  /** Whether all that it has touched is known. */
  readonly isWhole: boolean;
}

/** The topic of messages between processes. */
const TOUCHED = "flow:touched";
const NOTHING = { private: false, untrusted: false };

const UNKNOWN: KnownConversation = { conversation: undefined, isWhole: false };

const opened = (): Conversation => ({ logged: new Set() });

/** All of a process. */
export class Conversations {
  readonly #sessions = new LRUCache<string, Conversation>(entryLimit(MAX_SESSIONS));
  /** By principal and id, those that were used least lately first. */
  readonly #traces = new Map<string, Map<string, Trace>>();
  #traceCount = 0;
  readonly #others: FeatureMessages | undefined;

  /** @param others the processes that may have calls of the same traces; undefined if there is none */
  constructor(others?: FeatureMessages) {
    this.#others = others;
    others?.answer(TOUCHED, (message) => this.#touchedHere(message));
  }

  /** Without a session, a pipe and a trace nothing is known. */
  of(call: Call): KnownConversation {
    const { client } = call;
    const session = sessionOf(call);
    if (session !== undefined)
      return { conversation: this.#sessions.get(session), isWhole: client.adoption === undefined };
    const id = hostTraceOf(call);
    if (id === undefined) return UNKNOWN;
    return { conversation: this.#trace(principalKey(client.principal), id), isWhole: true };
  }

  /** Asks the other processes what the trace of this call has touched there; undefined where none can know. Does not reject. */
  learn(call: Call): Promise<void> | undefined {
    const id = sessionOf(call) === undefined ? hostTraceOf(call) : undefined;
    if (id === undefined || this.#others === undefined) return undefined;
    const principal = principalKey(call.client.principal);
    return this.#others.ask(TOUCHED, { principal, id }).then((answers) => {
      for (const answer of answers) this.#merge(call, answer);
    });
  }

  #touchedHere({ principal, id }: JsonObject): JsonObject {
    const trace =
      typeof principal === "string" && typeof id === "string" ? this.#trace(principal, id) : undefined;
    return trace === undefined
      ? {}
      : {
          ...(trace.private !== undefined && { private: trace.private }),
          ...(trace.untrusted !== undefined && { untrusted: trace.untrusted }),
        };
  }

  #merge(call: Call, answer: JsonObject): void {
    for (const label of ["private", "untrusted"] as const) {
      const sources = answer[label];
      if (!Array.isArray(sources)) continue;
      for (const source of sources) this.touch(call, { ...NOTHING, [label]: true }, String(source));
    }
  }

  /** A target has given its result to the conversation of this call. */
  touch(call: Call, labels: Readonly<Record<Touched, boolean>>, source: string): void {
    const conversation = this.#open(call);
    if (conversation === undefined) return;
    if (labels.private) conversation.private = withSource(conversation.private, source);
    if (labels.untrusted) conversation.untrusted = withSource(conversation.untrusted, source);
  }

  /** A session has ended. */
  release(affinity: string): void {
    this.#sessions.delete(affinity);
  }

  get size(): number {
    return this.#sessions.size + this.#traceCount;
  }

  clear(): void {
    this.#sessions.clear();
    this.#traces.clear();
    this.#traceCount = 0;
  }

  #open(call: Call): Conversation | undefined {
    const session = sessionOf(call);
    if (session !== undefined) {
      let conversation = this.#sessions.get(session);
      if (conversation === undefined) {
        conversation = opened();
        this.#sessions.set(session, conversation);
      }
      return conversation;
    }
    const id = hostTraceOf(call);
    const { principal } = call.client;
    return id === undefined
      ? undefined
      : (this.#trace(principalKey(principal), id) ?? this.#addTrace(principal, id));
  }

  #trace(key: string, id: string): Trace | undefined {
    const trace = this.#traces.get(key)?.get(id);
    if (trace === undefined) return undefined;
    const now = performance.now();
    this.#deleteTrace(key, id);
    if (now - trace.usedAt > TRACE_MS) return undefined;
    trace.usedAt = now;
    this.#keepTrace(key, id, trace);
    return trace;
  }

  #addTrace(principal: Principal, id: string): Trace {
    const key = principalKey(principal);
    const own = this.#traces.get(key)?.size ?? 0;
    if (isIdentified(principal) && own >= MAX_TRACES_OF_PRINCIPAL) this.#forgetOldest(key);
    else if (this.#traceCount >= MAX_TRACES) this.#forgetOldest(this.#principalWithMost());
    const trace = { ...opened(), usedAt: performance.now() };
    this.#keepTrace(key, id, trace);
    return trace;
  }

  #keepTrace(key: string, id: string, trace: Trace): void {
    let own = this.#traces.get(key);
    if (own === undefined) {
      own = new Map();
      this.#traces.set(key, own);
    }
    own.set(id, trace);
    this.#traceCount += 1;
  }

  #deleteTrace(key: string, id: string): void {
    const own = this.#traces.get(key);
    if (own?.delete(id) !== true) return;
    this.#traceCount -= 1;
    if (own.size === 0) this.#traces.delete(key);
  }

  #forgetOldest(key: string): void {
    const [oldest] = this.#traces.get(key)?.keys() ?? [];
    if (oldest !== undefined) this.#deleteTrace(key, oldest);
  }

  #principalWithMost(): string {
    let [most, count] = ["", 0];
    for (const [key, { size }] of this.#traces) if (size > count) [most, count] = [key, size];
    return most;
  }
}

/** The key of the session, or of the pipe, whose host is one process; undefined if there is neither. */
function sessionOf({ client, record }: Call): string | undefined {
  if (client.session) return client.affinity;
  return record?.host?.isHttp === false ? `pipe ${client.affinity}` : undefined;
}

/** The trace that the host itself sends: one that the gateway begins is of a single call. */
function hostTraceOf({ params }: Call): string | undefined {
  return readContext(objectAt(params, "_meta")?.traceparent, undefined)?.traceId;
}

const withSource = (known: readonly string[] = [], source: string): readonly string[] =>
  known.length >= MAX_SOURCES || known.includes(source) ? known : [...known, source];
