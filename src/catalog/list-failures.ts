/** Why could lists of one server not be read at the last attempt? */
import { GatewayError } from "../core/errors.js";
import { LISTS, type ListKind } from "../core/lists.js";
import type { Logger } from "../core/logger.js";

/** The failures since the shared connection was opened. */
export class ListFailures {
  readonly #server: string;
  readonly #logger: Logger;
  readonly #sentences = new Map<ListKind, string>();

  constructor(server: string, logger: Logger) {
    this.#server = server;
    this.#logger = logger;
  }

  /** In a sentence; undefined if all lists could be read. */
  get text(): string | undefined {
    return this.#sentences.size === 0 ? undefined : [...this.#sentences.values()].join("; ");
  }

  /** Logs the failure, and keeps it where the list is that of the shared connection. */
  add(kind: ListKind, cause: unknown, isShared: boolean): void {
    const reason = cause instanceof Error ? cause.message : "it failed";
    const error = `its ${LISTS[kind].noun}s could not be listed: ${reason}`;
    // The list is requested repeatedly; the same error each time would fill the log with warnings.
    const isRepeated = this.#sentences.get(kind) === error;
    if (isShared) this.#sentences.set(kind, error);
    const sentence = `${error}; the last known list is served`;
    // An error of another kind is one of the gateway, and has a stack.
    const bug = cause instanceof GatewayError ? {} : { error: cause };
    const server = this.#server;
    if (isRepeated) this.#logger.info({ server, list: kind }, sentence);
    else this.#logger.warn({ server, list: kind, ...bug }, sentence);
  }

  /** The list was read. */
  remove(kind: ListKind): void {
    this.#sentences.delete(kind);
  }

  clear(): void {
    this.#sentences.clear();
  }
}

/** Whether credentials are missing: there is nothing to fix at the server. */
export const needsSignIn = (error: unknown): boolean =>
  error instanceof GatewayError && error.code === "sign_in_required";
