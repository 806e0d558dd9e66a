/** The secret that all replicas share. It never leaves a process: replicas prove that they hold it. */
import { createHmac, hkdfSync, timingSafeEqual } from "node:crypto";
import { RequestSignatures } from "../../runtime/signed-requests.js";

/** What replicas do with their shared secret. */
export class PeerKey {
  readonly #key: Buffer;
  /** Signs forwarded requests. */
  readonly requests: RequestSignatures;

  /** @param now the time of day in ms */
  constructor(
    secret: string,
    readonly now: () => number = () => Date.now(),
  ) {
    this.#key = Buffer.from(hkdfSync("sha256", secret, "cardea", "proofs of replicas, 2", 32));
    this.requests = new RequestSignatures(secret, now);
  }

  /** A MAC over the texts in this order, for one purpose. */
  mac(purpose: string, ...texts: readonly string[]): string {
    const signed = [purpose, ...texts].map((text) => `${Buffer.byteLength(text)}:${text}`).join("");
    return createHmac("sha256", this.#key).update(signed).digest("base64url");
  }

  /** Whether `mac` is the MAC over these texts. */
  isMac(mac: string, purpose: string, ...texts: readonly string[]): boolean {
    const [given, expected] = [Buffer.from(mac), Buffer.from(this.mac(purpose, ...texts))];
    return given.length === expected.length && timingSafeEqual(given, expected);
  }

  /** A fingerprint for comparing keys without revealing them. */
  get digest(): string {
    return this.mac("digest").slice(0, 8);
  }
}
