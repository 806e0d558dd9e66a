/** Which calls wait for a person or a model, and for how long: from a question to the round that brings its answer. */
import { hash } from "node:crypto";
import { LRUCache } from "lru-cache";
import { APPROVAL_KEY, type Call, type Reply } from "../core/call.js";
import type { Client } from "../core/client.js";
import type { Observer } from "../core/handler.js";
import { questionKind } from "../core/methods.js";
import type { StopSignal } from "../core/stop.js";
import { upTo } from "../core/up-to.js";
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

interface Waiting {
  readonly server: string;
  readonly principal: string;
  /** By `performance.now()`, and by `Date.now()`. */
  readonly since: number;
  readonly askedAt: number;
  /** By the keys of the round. */
  readonly questions: Map<string, InputKind>;
  /** Ends what tells of questions that nobody need answer any more. */
  readonly forget: () => void;
}

/** Questions that are remembered at once; the ones longest without an answer are forgotten first. */
const MOST_WAITING = 10_000;
/** Questions of one round that are told apart. */
const MOST_OF_ONE = 32;
/** A client without a session may never come back, and nobody would know. */
const LONGEST_WAIT_MS = 3_600_000;

export class InputWaits {
  readonly #metrics: Metrics;
  readonly #waiting = new LRUCache<string, Waiting>({
    ...upTo(MOST_WAITING),
    ttl: LONGEST_WAIT_MS,
    perf: { now: () => performance.now() }, // asked each time, so that tests can turn the clock
    dispose: (waiting) => waiting.forget(),
  });

  #lastLoose = 0;

  readonly #longestMs: () => number;

  /** `longestMs`: how long a question that is asked now can be answered at all. Default: 1 h. */
  constructor(metrics: Metrics, longestMs = () => LONGEST_WAIT_MS) {
    this.#metrics = metrics;
    this.#longestMs = longestMs;
  }

  /** Those that are open now, the oldest first. */
  open(): readonly OpenQuestion[] {
    this.#waiting.purgeStale();
    const open: OpenQuestion[] = [];
    for (const waiting of this.#waiting.rvalues()) {
      if (waiting === undefined) continue;
      const { server, principal, askedAt, questions } = waiting;
      const since = new Date(askedAt).toISOString();
      for (const kind of questions.values()) open.push({ server, kind, principal, since });
    }
    return open;
  }

  /** A question that belongs to no call is open until the returned function is called. */
  opened(server: string, client: Client, question: JsonObject): () => void {
    const kind = questionKind(question);
    if (kind === undefined) return () => {};
    this.#lastLoose += 1;
    const key = `between calls ${this.#lastLoose}`;
    const since = performance.now();
    this.#waiting.set(key, {
      server,
      principal: client.principal.id,
      since,
      askedAt: Date.now(),
      questions: new Map([["", kind]]),
      forget: () => {},
    });
    return () => {
      if (!this.#waiting.delete(key)) return;
      this.#metrics.waitedForInput({ server, kind, seconds: (performance.now() - since) / 1000 });
    };
  }

  /** Belongs outside the layer that seals states: there every round has a state of its own to be known by. */
  readonly observer: Observer = {
    begins: (call) => {
      if (call.answers !== undefined) this.#answered(call, call.answers.state);
    },
    ends: (call, reply) => {
      if (reply.kind === "input_required") this.#asked(call, reply);
    },
  };

  #asked(call: Call, reply: InputRequired): void {
    const key = keyOf(call, reply.state);
    const questions = kindsOf(reply);
    if (questions.size === 0) return;
    // The request of a session stays open while its client is asked; of a client without one nothing more is heard.
    const { principal, session } = call.client;
    const unwatch = reply.open?.watch((gone) => {
      if (questions.delete(gone) && questions.size === 0) this.#waiting.delete(key);
    });
    const unheard = session ? this.#untilGivenUp(key, call.signal) : undefined;
    const forget = forgetting(unwatch, unheard);
    if (questions.size === 0 || (session && call.signal.aborted)) {
      forget();
      return;
    }
    const waiting: Waiting = {
      server: serverLabel(call),
      principal: principal.id,
      since: performance.now(),
      askedAt: Date.now(),
      questions,
      forget,
    };
    this.#waiting.set(key, waiting, { ttl: this.#longestMs() });
  }

  /** Until the returned function is called. */
  #untilGivenUp(key: string, signal: StopSignal): () => void {
    const givenUp = (): void => void this.#waiting.delete(key);
    signal.addEventListener("abort", givenUp, { once: true });
    return () => signal.removeEventListener("abort", givenUp);
  }

  #answered(call: Call, state: string | undefined): void {
    const key = keyOf(call, state);
    const asked = this.#waiting.get(key);
    if (asked === undefined) return;
    this.#waiting.delete(key);
    const seconds = (performance.now() - asked.since) / 1000;
    for (const kind of new Set(asked.questions.values())) {
      this.#metrics.waitedForInput({ server: serverLabel(call), kind, seconds });
    }
  }
}

/** Of its own, so that what is kept does not hold on to the call. */
const forgetting = (unwatch: (() => void) | undefined, unheard: (() => void) | undefined) => (): void => {
  unheard?.();
  unwatch?.();
};

/** A digest, because states are as long as servers make them. */
const keyOf = ({ client, method, route }: Call, state: string | undefined): string =>
  hash("sha256", writeJson([client.affinity, method, route?.exposed, state]), "base64");

function kindsOf({ requests }: InputRequired): Map<string, InputKind> {
  const kinds = Object.entries(requests)
    .slice(0, MOST_OF_ONE)
    .flatMap(([key, request]): [string, InputKind][] => {
      if (key === APPROVAL_KEY) return [[key, "approval"]];
      const kind = isObject(request) ? questionKind(request) : undefined;
      return kind === undefined ? [] : [[key, kind]];
    });
  return new Map(kinds);
}
