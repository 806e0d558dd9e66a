/** Which calls wait for a person or a model, and for how long: from a question to the round that brings its answer. */
import { hash } from "node:crypto";
import { LRUCache } from "lru-cache";
import { APPROVAL_KEY, type Call, type Reply } from "../core/call.js";
import type { Client } from "../core/client.js";
import type { Observer } from "../core/handler.js";
import { questionKind } from "../core/methods.js";
import type { StopSignal } from "../core/stop.js";
import { entryLimit } from "../runtime/cache-limits.js";
import { isObject, type JsonObject } from "../wire/json.js";
import { writeJson } from "../wire/json-text.js";
import { serverLabel } from "./labels.js";
import type { InputKind, Metrics } from "./metrics.js";

type InputRequired = Extract<Reply, { kind: "input_required" }>;

/** A question that somebody was asked and has not answered yet; never what it says. */
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
  /** By `performance.now()`, and by `Date.now()`. */
  readonly since: number;
  readonly askedAt: number;
  /** By the keys of the round. */
  readonly questions: Map<string, InputKind>;
  /** Ends what tells of questions that nobody need answer any more. */
  readonly stopWatching: () => void;
}

/** Questions that are remembered at once; the ones longest without an answer are forgotten first. */
const MAX_ROUNDS = 10_000;
/** Questions of one round that are told apart. */
const MAX_QUESTIONS_PER_ROUND = 32;
/** A client without a session may never come back, and nobody would know. */
const MAX_WAIT_MS = 3_600_000;

export class PendingQuestions {
  readonly #metrics: Metrics;
  readonly #rounds = new LRUCache<string, PendingRound>({
    ...entryLimit(MAX_ROUNDS),
    ttl: MAX_WAIT_MS,
    perf: { now: () => performance.now() }, // asked each time, so that tests can turn the clock
    dispose: (waiting) => waiting.stopWatching(),
  });

  #lastSessionQuestion = 0;

  readonly #ttlMs: () => number;

  /** `longestMs`: how long a question that is asked now can be answered at all. Default: 1 h. */
  constructor(metrics: Metrics, longestMs = () => MAX_WAIT_MS) {
    this.#metrics = metrics;
    this.#ttlMs = longestMs;
  }

  /** Those that are open now, the oldest first. */
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

  /** A question that belongs to no call is open until the returned function is called. */
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
      stopWatching: () => {},
    });
    return () => {
      if (!this.#rounds.delete(key)) return;
      this.#metrics.inputWaited({ server, kind, seconds: (performance.now() - since) / 1000 });
    };
  }

  /** Belongs outside the layer that seals states: there every round has a state of its own to be known by. */
  readonly observer: Observer = {
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
    // The request of a session stays open while its client is asked; of a client without one nothing more is heard.
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
    for (const kind of new Set(asked.questions.values())) {
      this.#metrics.inputWaited({ server: serverLabel(call), kind, seconds });
    }
  }
}

/** Of its own, so that what is kept does not hold on to the call. */
const unwatcher = (unwatch: (() => void) | undefined, unheard: (() => void) | undefined) => (): void => {
  unheard?.();
  unwatch?.();
};

/** A digest, because states are as long as servers make them. */
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
