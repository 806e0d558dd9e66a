/** When are the lists of subscribers compared with those that they know? Debounced, in batches, while one catalog is live. */
import type { Client } from "../core/client.js";
import type { ListKind } from "../core/lists.js";
import { inBackground, type Logger } from "../core/logger.js";
import { cooperativeYield, runSteps, type Steps } from "../runtime/cooperative-yield.js";
import type { ListVersion, Snapshot } from "./view.js";

/** A subscriber, as far as lists matter. */
export interface ListSubscriber {
  readonly client: Client;
  /** The followed lists, in the version of the subscription or of the last notification. */
  knownVersions: ListVersion[];
}

/** The lists of one catalog. */
export interface ListSource {
  /** The response to a list request of this client. */
  readonly listed: (client: Client, kind: ListKind) => Snapshot;
  /** Merges the lists of this client. */
  readonly merge: (client: Client) => Steps<void>;
}

interface ListComparisonsOptions<Subscriber extends ListSubscriber> {
  readonly source: ListSource;
  /** Those of now. */
  readonly subscribers: ReadonlySet<Subscriber>;
  /** Compares, and notifies of what differs. Never throws. */
  readonly compare: (subscriber: Subscriber) => void;
  /** Runs a step, and logs what it throws. */
  readonly guard: (step: () => void) => void;
  readonly logger: Logger;
}

/**
 * Servers often change together (they start, or react to the same event), so changes within this window (ms)
 * are notified together.
 */
const COALESCE_MS = 20;
/** Subscribers notified per turn of the event loop. */
const BATCH_SIZE = 500;

/** The comparisons with the lists of one catalog, until `close`. */
export class ListComparisons<Subscriber extends ListSubscriber> {
  readonly #options: ListComparisonsOptions<Subscriber>;
  /** Whether a walk over the subscribers is scheduled or running, and whether another must follow it. */
  #isNotifying = false;
  #again = false;
  #due: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: ListComparisonsOptions<Subscriber>) {
    this.#options = options;
  }

  /** A list of a scope has changed. */
  schedule(): void {
    this.#again = true;
    if (this.#isNotifying || this.#closed) return;
    this.#isNotifying = true;
    this.#due = setTimeout(
      () => inBackground(this.#compareAll(), this.#options.logger, "telling changes"),
      COALESCE_MS,
    );
  }

  /** Does now what is scheduled. */
  flush(): void {
    if (!this.#isNotifying) return;
    for (const subscriber of [...this.#options.subscribers]) this.#options.compare(subscriber);
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#due);
  }

  async #compareAll(): Promise<void> {
    const { source, subscribers, compare } = this.#options;
    while (this.#again && !this.#closed) {
      this.#again = false;
      let told = 0;
      for (const subscriber of [...subscribers]) {
        if (++told % BATCH_SIZE === 0) await new Promise((resume) => setImmediate(resume));
        await runSteps(source.merge(subscriber.client));
        await this.#makeRevisions(subscriber);
        if (this.#closed) return;
        if (subscribers.has(subscriber)) compare(subscriber);
      }
    }
    this.#isNotifying = false;
  }

  /** Long lists get their revisions in steps; the lists may change meanwhile, so this is done twice at most. */
  async #makeRevisions(subscriber: Subscriber): Promise<void> {
    for (let attempt = 0; attempt < 2; attempt += 1) {
      const lists = this.#unrevised(subscriber);
      if (lists.length === 0) return;
      for (const list of lists) {
        await cooperativeYield();
        await runSteps(list.prepare());
      }
    }
  }

  #unrevised({ client, knownVersions }: Subscriber): readonly Snapshot[] {
    const lists: Snapshot[] = [];
    this.#options.guard(() => {
      for (const { kind } of knownVersions) {
        const list = this.#options.source.listed(client, kind);
        if (list.isLong && !list.hasRevision) lists.push(list);
      }
    });
    return lists;
  }
}
