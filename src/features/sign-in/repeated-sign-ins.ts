/** Detects sign-ins that do not help: repeated sign-ins for the same scopes are not offered again. */
import { LRUCache } from "lru-cache";
import { writeJson } from "../../wire/json-text.js";
import type { SignInSubject } from "./pending-content.js";

/** Successive sign-ins for the same scopes (2026-07-28: security best practices, "Scope Minimization"). */
const MAX_SIGN_INS = 3;
/** In ms; afterwards a sign-in is offered again. */
const REMEMBERED_MS = 600_000;
const MAX_SUBJECTS = 1_000;

interface SignInsOfOne {
  readonly count: number;
  readonly scopes: readonly string[];
}

/** The finished sign-ins of one process. */
export class RepeatedSignIns {
  readonly #finished: LRUCache<string, SignInsOfOne>;

  /** @param now ms since 1970 */
  constructor(now: () => number) {
    this.#finished = new LRUCache({ max: MAX_SUBJECTS, ttl: REMEMBERED_MS, ttlResolution: 0, perf: { now } });
  }

  /** A sign-in for `scopes` succeeded. One for more scopes than before restarts the count. */
  finished(subject: SignInSubject, scopes: readonly string[]): void {
    const key = keyOf(subject);
    const before = this.#finished.get(key);
    const isRepeated = before !== undefined && includesAll(before.scopes, scopes);
    if (isRepeated) this.#finished.set(key, { ...before, count: before.count + 1 }, { noUpdateTTL: true });
    else this.#finished.set(key, { count: 1, scopes });
  }

  /** Whether another sign-in that adds no more than `lacked` would exceed the limit. */
  isEnough(subject: SignInSubject, lacked: readonly string[]): boolean {
    const before = this.#finished.get(keyOf(subject));
    return before !== undefined && before.count >= MAX_SIGN_INS && includesAll(before.scopes, lacked);
  }

  /** Restarts the count. */
  forget(subject: SignInSubject): void {
    this.#finished.delete(keyOf(subject));
  }
}

const keyOf = ({ server, principal }: SignInSubject): string => writeJson([server, principal]);

const includesAll = (scopes: readonly string[], wanted: readonly string[]): boolean =>
  wanted.every((scope) => scopes.includes(scope));
