/**
 * Remembered approvals, which all replicas honour. They tell each other directly; through the store only a hint that one was
 * revoked, for replicas that do not reach each other: it makes them ask again.
 */
import { createHmac, hkdfSync } from "node:crypto";
import { overloaded } from "../../core/errors.js";
import type { Logger } from "../../core/logger.js";
import type { SharedApprovals } from "../../core/replicas.js";
import type { SharedStore } from "../../core/shared-store.js";
import { stringAt } from "../../wire/json.js";
import type { AuthenticatedValues } from "./authenticated-values.js";
import type { PeerMessages } from "./peer-messages.js";
import { SharedFacts } from "./shared-facts.js";

const CHANNEL = "approvals:revoked";
const KIND = "approval";
const RETRY_MS = 1_000;
/** A hint is for those that listen now, in ms. */
const HINT_MS = 1_000;
/** How long (ms) an approval, or its end, is known at most. */
const MAX_LIFE_MS = 31 * 24 * 3_600_000;

/** Dependencies of the approvals. */
export interface RememberedApprovalsOptions {
  readonly messages: PeerMessages;
  /** Shared by all replicas. */
  readonly secret: string;
  readonly logger: Logger;
  /** For hints; absent where replicas share no store. */
  readonly store?: SharedStore;
  readonly values: AuthenticatedValues;
}

/** The shared approvals, by digests. */
export class RememberedApprovals implements SharedApprovals {
  readonly facts: SharedFacts;
  readonly #digestKey: Buffer;
  readonly #listeners = new Set<(isMeant: (key: string) => boolean) => void>();

  constructor(private readonly options: RememberedApprovalsOptions) {
    const { secret, messages, logger } = options;
    this.#digestKey = Buffer.from(hkdfSync("sha256", secret, "cardea", "remembered approvals", 32));
    this.facts = new SharedFacts({
      ...{ messages, logger, kind: KIND, lifeMs: MAX_LIFE_MS },
      onTold: (key, { value }) => {
        if (value === undefined) this.#drop((meant) => key === this.#digestOf(meant));
      },
    });
  }

  async find(key: string): Promise<{ readonly id: string; readonly leftMs: number } | undefined> {
    const fact = await this.facts.find(this.#digestOf(key));
    const id = stringAt(fact?.value, "id");
    return id === undefined || fact === undefined ? undefined : { id, leftMs: fact.leftMs };
  }

  async keep(key: string, id: string, ms: number): Promise<void> {
    const digest = this.#digestOf(key);
    // One that was revoked elsewhere has a version that this replica may not know.
    await this.facts.ask(digest);
    this.facts.set(digest, { id }, { lifeMs: ms });
    await this.facts.tell(digest);
  }

  async revoke(key: string): Promise<void> {
    const { store, values } = this.options;
    const digest = this.#digestOf(key);
    await this.facts.ask(digest);
    this.facts.set(digest, undefined);
    const unreached = await this.facts.tell(digest);
    store?.publish(CHANNEL, values.seal("hint", CHANNEL, digest, HINT_MS));
    if (unreached.length === 0) return;
    const sentence = `the approval is still valid at ${unreached.join(", ")}, where it cannot be revoked at present; try again`;
    throw overloaded(sentence, RETRY_MS);
  }

  onRevoked(listener: (isMeant: (key: string) => boolean) => void): () => void {
    this.#listeners.add(listener);
    const { store, values } = this.options;
    const ends = [
      store?.subscribe(CHANNEL, (message) => {
        // An empty message: others may have been lost.
        const digest = message === "" ? undefined : values.open("hint", CHANNEL, message);
        if (message === "") this.#doubtAll();
        if (digest === undefined) return;
        this.facts.forget(digest);
        this.#drop((key) => digest === this.#digestOf(key));
      }),
      store?.onChange((isUp) => isUp && this.#doubtAll()),
    ];
    return () => {
      this.#listeners.delete(listener);
      for (const end of ends) end?.();
    };
  }

  /** Each approval is asked for before it is used again. */
  #doubtAll(): void {
    this.facts.doubt();
    this.#drop(() => true);
  }

  #drop(isMeant: (key: string) => boolean): void {
    for (const listener of this.#listeners) listener(isMeant);
  }

  #digestOf(key: string): string {
    return createHmac("sha256", this.#digestKey).update(key).digest("base64url");
  }
}
