/** How often is one operation led to a page for more scopes? A few times, and not again soon after it failed. */
import { LRUCache } from "lru-cache";
import { writeJson } from "../wire/json-text.js";
import type { SignInSubject } from "./pending-content.js";

/** Attempts for one operation at one resource (2026-07-28: security best practices, "Scope Minimization"). */
const MAX_ATTEMPTS = 3;
/** In ms; then an operation may lead to a page again. */
const REMEMBERED_MS = 600_000;
const MAX_OPERATIONS = 1_000;

/** The attempts of one process. */
export class StepUpAttempts {
  readonly #counts: LRUCache<string, number>;

  /** @param now ms since 1970 */
  constructor(now: () => number) {
    this.#counts = new LRUCache({
      max: MAX_OPERATIONS,
      ttl: REMEMBERED_MS,
      ttlResolution: 0,
      perf: { now },
    });
  }

  /** Counts an attempt; false where there were enough. @param operation such as the name of a tool */
  mayTry({ server, principal }: SignInSubject, operation: string): boolean {
    const key = writeJson([server, principal, operation]);
    const count = this.#counts.get(key) ?? 0;
    if (count >= MAX_ATTEMPTS) return false;
    this.#counts.set(key, count + 1, { noUpdateTTL: count > 0 });
    return true;
  }
}
