/** In which calls does a server need the roots of hosts, and when does it ask for them? Known from its requests. */
import type { Call } from "../../core/call.js";
import type { RootsRequest } from "../legacy/server-questions.js";

/**
 * A server that asks within this time (ms) after the handshake sets itself up with the roots: all calls depend on them. One that
 * asks later, when it has answered other requests, serves calls without them (server-everything: 350 ms).
 */
const SETUP_MS = 300;
/** Requests that come later (ms) after the handshake are not caused by it. */
const MAX_START_MS = 5_000;
/** The same for those that come while a call is running, and may be caused by that. */
const MAX_IN_CALL_MS = 1_000;
/** A server is given this factor of the time that it took before, and this time (ms) more. */
const START_FACTOR = 2;
const START_MARGIN_MS = 500;
/** The maximum number of tools and prompts that are known to ask; with more than that all calls count as such. */
const MAX_TARGETS = 1_000;

/** What is known of one server. */
export class RootsRequests {
  #isSetUpWithRoots = false;
  /** The tools and prompts in whose calls it has asked. */
  readonly #targets = new Set<string>();
  /** The longest time (ms) after a handshake at which it has asked in no call, and at which it may have; 0: it has not. */
  #startMs = 0;
  #suspectedMs = 0;
  /** A connection was opened, and it did not ask. */
  #missedStart = false;

  /** Whether the server needs the roots of the host in `call`, as far as it is known. */
  areNeededIn(call: Pick<Call, "method" | "params">): boolean {
    if (this.#isSetUpWithRoots || this.#targets.size >= MAX_TARGETS) return true;
    return this.#targets.size > 0 && this.#targets.has(targetOf(call.method, call.params.name));
  }

  /** Whether its calls need them because it sets itself up with roots. */
  get isSetUpWithRoots(): boolean {
    return this.#isSetUpWithRoots;
  }

  /** How long (ms) after the handshake it may take to ask; undefined where it has asked in calls only. */
  get startMs(): number | undefined {
    return this.#startMs === 0 ? undefined : withMargin(this.#startMs);
  }

  /** The same, also where it may have asked in a call by chance; undefined where it is certain that it asks in calls only. */
  get possibleStartMs(): number | undefined {
    const possible = Math.max(this.#startMs, this.#suspectedMs);
    return possible === 0 ? undefined : withMargin(possible);
  }

  /** Whether the server has neither asked nor had the time to. */
  get areUnknown(): boolean {
    return this.possibleStartMs === undefined && !this.#missedStart && this.#targets.size === 0;
  }

  /** The server asks. */
  asked({ afterOpenMs, inCall, isFirst, isAfterAnswers, method, name }: RootsRequest): void {
    if (inCall === "no") {
      if (afterOpenMs > MAX_START_MS) return;
      if (afterOpenMs <= SETUP_MS || isAfterAnswers !== true) this.#isSetUpWithRoots = true;
      this.#started(afterOpenMs);
    } else if (inCall === "maybe" && isFirst && afterOpenMs <= MAX_IN_CALL_MS && !this.#missedStart) {
      // The next new connection gets no call before its server has had this time.
      this.#suspectedMs = Math.max(afterOpenMs, this.#suspectedMs);
    } else if (method !== undefined) this.#targets.add(targetOf(method, name));
  }

  /** It had that time on a new connection, and did not ask. */
  missedStart(): void {
    this.#missedStart = true;
    this.#startMs = 0;
    this.#suspectedMs = 0;
  }

  #started(afterOpenMs: number): void {
    this.#missedStart = false;
    this.#startMs = Math.max(afterOpenMs, this.#startMs);
  }
}

const withMargin = (ms: number): number => Math.min(ms * START_FACTOR + START_MARGIN_MS, MAX_START_MS);

/** What is called; all resources count as one. */
const targetOf = (method: string, name: unknown): string =>
  typeof name === "string" ? `${method} ${name}` : method;
