/** Remembered approvals shared by all replicas: in the store, keyed by a digest. */
import { createHmac, hkdfSync } from "node:crypto";
import {
  type SharedApprovals,
  type SharedStore,
  type StoreScript,
  StoreUnavailable,
} from "../core/cluster.js";
import { overloaded } from "../core/errors.js";

const CHANNEL = "approvals:revoked";
const RETRY_MS = 1_000;

const READ: StoreScript = {
  name: "approval.read",
  text: "return {redis.call('GET', KEYS[1]), redis.call('PTTL', KEYS[1])}",
};

/** The shared approvals. The store learns neither the principal nor the call. */
export class RememberedApprovals implements SharedApprovals {
  readonly #digestKey: Buffer;

  /** @param secret shared by all replicas */
  constructor(
    private readonly store: SharedStore,
    secret: string,
  ) {
    this.#digestKey = Buffer.from(hkdfSync("sha256", secret, "cardea", "remembered approvals", 32));
  }

  async find(key: string): Promise<{ readonly id: string; readonly leftMs: number } | undefined> {
    try {
      const [id, leftMs] = (await this.store.run(READ, [this.#keyOf(key)], [])) as readonly unknown[];
      return typeof id === "string" && Number(leftMs) > 0 ? { id, leftMs: Number(leftMs) } : undefined;
    } catch (error) {
      if (error instanceof StoreUnavailable) return undefined;
      throw error;
    }
  }

  async keep(key: string, id: string, ms: number): Promise<void> {
    await this.store.set(this.#keyOf(key), id, ms).catch((error: unknown) => {
      if (!(error instanceof StoreUnavailable)) throw error;
    });
  }

  async revoke(key: string): Promise<void> {
    const own = this.#keyOf(key);
    await this.store.delete(own).catch((error: unknown) => {
      if (!(error instanceof StoreUnavailable)) throw error;
      const sentence =
        "the approval is still valid: revoking it needs the cluster's store, which cannot be reached; try again";
      throw overloaded(sentence, RETRY_MS);
    });
    this.store.publish(CHANNEL, own);
  }

  onRevoked(listener: (isMeant: (key: string) => boolean) => void): () => void {
    const ends = [
      // An empty message: others may have been lost.
      this.store.subscribe(CHANNEL, (own) => listener((key) => own === "" || own === this.#keyOf(key))),
      this.store.onChange((isUp) => isUp && listener(() => true)),
    ];
    return () => {
      for (const end of ends) end();
    };
  }

  #keyOf(key: string): string {
    return `approval:${createHmac("sha256", this.#digestKey).update(key).digest("base64url")}`;
  }
}
