/** Which calls wait for input, and for how long? From an `input_required` reply to the round with the answers. */
import { hash } from "node:crypto";
import { LRUCache } from "lru-cache";
import { APPROVAL_KEY, type Call, type Observer, type Reply } from "../core/call.js";
import type { TraceContext } from "../core/call-record.js";
import type { Client } from "../core/client.js";
import { type InputKind, questionKind } from "../core/methods.js";
import type { StopSignal } from "../core/stop.js";
import { entryLimit } from "../runtime/cache-limits.js";
import { isObject, type JsonObject } from "../wire/json.js";
import { writeJson } from "../wire/json-text.js";
import { serverLabel } from "./finished-calls.js";
import type { Metrics } from "./metrics.js";

type InputRequired = Extract<Reply, { kind: "input_required" }>;

/** An open question, without its content. */
export interface OpenQuestion {
  readonly server: string;
  readonly kind: InputKind;
  readonly principal: string;
  /** ISO 8601. */
  readonly since: string;
}

interface PendingRound {
  readonly server: string;
  readonly principal: string;
  /** `performance.now()` and `Date.now()` of the question. */
  readonly since: number;
  readonly askedAt: number;
  /** By the keys of the round. */
  readonly questions: Map<string, InputKind>;
  /** That of the call that asked. */
  readonly trace: TraceContext | undefined;
  /** Unsubscribes from cancelled questions and from the abort of the call. */
  readonly stopWatching: () => void;
}

/** Limit of open rounds; the oldest are dropped first. */
const MAX_ROUNDS = 10_000;
/** Limit of questions tracked per round. */
const MAX_QUESTIONS_PER_ROUND = 32;
/** Rounds are dropped after this (ms): a client without a session may never answer. */
const MAX_WAIT_MS = 3_600_000;

/** Questions to hosts that are not answered yet, for metrics and status pages. */
export class PendingQuestions {
  readonly #metrics: Metrics;
  readonly #rounds = new LRUCache<string, PendingRound>({
    ...entryLimit(MAX_ROUNDS),
    ttl: MAX_WAIT_MS,
    perf: { now: () => performance.now() }, // resolved at each call, so that tests can inject time
    dispose: (waiting) => waiting.stopWatching(),
  });

  #lastSessionQuestion = 0;

  readonly #ttlMs: () => number;

  /** `longestMs`: how long a question that is asked now can be answered at all. Default: 1 h. */
  constructor(metrics: Metrics, longestMs = () => MAX_WAIT_MS) {
    this.#metrics = metrics;
    this.#ttlMs = longestMs;
  }

  /** The open questions, oldest first. */
  list(): readonly OpenQuestion[] {
    this.#rounds.purgeStale();
    const open: OpenQuestion[] = [];
    for (const waiting of this.#rounds.rvalues()) {
      if (waiting === undefined) continue;
      const { server, principal, askedAt, questions } = waiting;
      const since = new Date(askedAt).toISOString();
      for (const kind of questions.values()) open.push({ server, kind, principal, since });
    }
    return open;
  }

  /** Adds a question outside a call; it is open until the returned function is called. */
  add(server: string, client: Client, question: JsonObject): () => void {
    const kind = questionKind(question);
    if (kind === undefined) return () => {};
    this.#lastSessionQuestion += 1;
    const key = `between calls ${this.#lastSessionQuestion}`;
    const since = performance.now();
    this.#rounds.set(key, {
      server,
      principal: client.principal.id,
      since,
      askedAt: Date.now(),
      questions: new Map([["", kind]]),
      trace: undefined,
      stopWatching: () => {},
    });
    return () => {
      if (!this.#rounds.delete(key)) return;
      this.#metrics.inputWaited({ server, kind, seconds: (performance.now() - since) / 1000 });
    };
  }

  /** Must be outside the middleware that seals states: sealed states are unique per round. */
  readonly observer: Observer = {
    name: "pendingQuestions",
    onStart: (call) => {
      if (call.inputResponses !== undefined) this.#onAnswers(call, call.inputResponses.sealedState);
    },
    onEnd: (call, reply) => {
      if (reply.kind === "input_required") this.#onQuestions(call, reply);
    },
  };

  #onQuestions(call: Call, reply: InputRequired): void {
    const key = keyOf(call, reply.sealedState);
    const questions = questionKinds(reply);
    if (questions.size === 0) return;
    // The request of a client with a session stays open meanwhile; a client without one sends no further signal.
    const { principal, session } = call.client;
    const unwatch = reply.open?.watch((gone) => {
      if (questions.delete(gone) && questions.size === 0) this.#rounds.delete(key);
    });
    const unheard = session ? this.#dropOnAbort(key, call.signal) : undefined;
    const stopWatching = unwatcher(unwatch, unheard);
    if (questions.size === 0 || (session && call.signal.aborted)) {
      stopWatching();
      return;
    }
    const waiting: PendingRound = {
      server: serverLabel(call),
      principal: principal.id,
      since: performance.now(),
      askedAt: Date.now(),
      questions,
      trace: call.record?.trace,
      stopWatching,
    };
    this.#rounds.set(key, waiting, { ttl: this.#ttlMs() });
  }

  /** Until the returned function is called. */
  #dropOnAbort(key: string, signal: StopSignal): () => void {
    const givenUp = (): void => void this.#rounds.delete(key);
    signal.addEventListener("abort", givenUp, { once: true });
    return () => signal.removeEventListener("abort", givenUp);
  }

  #onAnswers(call: Call, state: string | undefined): void {
    const key = keyOf(call, state);
    const asked = this.#rounds.get(key);
    if (asked === undefined) return;
    this.#rounds.delete(key);
    const seconds = (performance.now() - asked.since) / 1000;
    const kinds = [...new Set(asked.questions.values())];
    if (call.record !== undefined) {
      call.record.inputMs = seconds * 1000;
      call.record.answered = { trace: asked.trace, kinds };
    }
    for (const kind of kinds) {
      this.#metrics.inputWaited({ server: serverLabel(call), kind, seconds });
    }
  }
}

/** A separate function, so that the closure does not keep the call in memory. */
const unwatcher = (unwatch: (() => void) | undefined, unheard: (() => void) | undefined) => (): void => {
  unheard?.();
  unwatch?.();
};

/** A digest, because states may be long. */
const keyOf = ({ client, method, route }: Call, state: string | undefined): string =>
  hash("sha256", writeJson([client.affinity, method, route?.exposed, state]), "base64");

function questionKinds({ requests }: InputRequired): Map<string, InputKind> {
  const kinds = Object.entries(requests)
    .slice(0, MAX_QUESTIONS_PER_ROUND)
    .flatMap(([key, request]): [string, InputKind][] => {
      if (key === APPROVAL_KEY) return [[key, "approval"]];
      const kind = isObject(request) ? questionKind(request) : undefined;
      return kind === undefined ? [] : [[key, kind]];
    });
  return new Map(kinds);
}
