/**
 * What may be used once, over all replicas: the store decides between concurrent uses, and each replica remembers the uses of
 * all, so that one that the store has lost is none that is left.
 */

import type { Logger } from "../../core/logger.js";
import type { SharedStore } from "../../core/shared-store.js";
import type { PeerMessages } from "./peer-messages.js";
import { SharedFacts } from "./shared-facts.js";

const TOPIC = "once";

/** Dependencies of the uses. */
export interface SingleUsesOptions {
  readonly messages: PeerMessages;
  readonly logger: Logger;
  readonly store?: SharedStore;
  /** How long (ms) a use is remembered. */
  readonly lifeMs: number;
}

/** The uses that are known to this replica. */
export class SingleUses {
  readonly facts: SharedFacts;

  constructor(private readonly options: SingleUsesOptions) {
    const { messages, logger, lifeMs } = options;
    this.facts = new SharedFacts({ messages, logger, kind: TOPIC, lifeMs });
    messages.answer(TOPIC, ({ use }) => {
      if (typeof use !== "string") return {};
      const isUsed = this.facts.local(use) !== undefined;
      if (!isUsed) this.facts.set(use, {});
      return { isUsed };
    });
  }

  /** True once for each nonce. */
  async use(nonce: string, ttlMs: number): Promise<boolean> {
    const { store, messages } = this.options;
    if (this.facts.local(nonce) !== undefined) return false;
    // Without the store the others decide: of two concurrent uses none is admitted then.
    const isFirst = (await store?.setIfAbsent(`once:${nonce}`, "1", ttlMs).catch(() => true)) ?? true;
    if (!isFirst || this.facts.local(nonce) !== undefined) return false;
    this.facts.set(nonce, {});
    const { answers } = await messages.ask(TOPIC, { use: nonce });
    return answers.every(({ answer }) => answer.isUsed !== true);
  }
}
