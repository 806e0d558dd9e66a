/**
 * Authenticates requests between replicas. Admission only: the owner of a session checks the host's own credentials, so
 * a forwarded request has no more permissions than the host.
 */
import { createHmac, hkdfSync, timingSafeEqual } from "node:crypto";
import { LRUCache } from "lru-cache";
import { HEADER } from "../wire/names.js";

/** The content of a valid header. */
export interface Admission {
  /** The id of the sending replica. */
  readonly from: string;
  /** How often the request was forwarded. */
  readonly hops: number;
}

/** Allowed clock skew between replicas in minutes, and the lifetime of a header. */
const MAX_SKEW_MINUTES = 10;
/** Most requests of a minute have the same signed content. */
const MAX_KNOWN = 100;
const MAX_KNOWN_LENGTH = 200;
const VALUE = /^([0-9a-z]{1,8})\.(\d{1,2})\.(\d{1,12})\.([\w-]{43})$/;

/** The secret that all replicas share. */
export class PeerKey {
  readonly #key: Buffer;
  /** The cached signatures, by signed content. */
  readonly #known = new LRUCache<string, Buffer>({ max: MAX_KNOWN });

  /** @param now the time of day in ms */
  constructor(
    secret: string,
    private readonly now: () => number = () => Date.now(),
  ) {
    this.#key = Buffer.from(hkdfSync("sha256", secret, "cardea", "requests of replicas", 32));
  }

  /** The header of a request from the replica `from`, name and value. */
  header(from: string, hops: number, method: string, path: string): readonly [name: string, value: string] {
    const minute = this.#minute();
    const mac = this.#macOf(from, hops, minute, method, path).toString("base64url");
    return [HEADER.peer, `${from}.${hops}.${minute}.${mac}`];
  }

  /** The content of a request's header; undefined if it is not from a replica. */
  verify(value: unknown, method: string, path: string): Admission | undefined {
    const parts = typeof value === "string" ? VALUE.exec(value) : null;
    if (parts === null) return undefined;
    const [, from = "", hopText, minuteText, mac = ""] = parts;
    const [hops, minute] = [Number(hopText), Number(minuteText)];
    if (Math.abs(minute - this.#minute()) > MAX_SKEW_MINUTES) return undefined;
    const expected = this.#macOf(from, hops, minute, method, path);
    return timingSafeEqual(expected, Buffer.from(mac, "base64url")) ? { from, hops } : undefined;
  }

  /** A fingerprint for comparing keys without revealing them. */
  get digest(): string {
    return createHmac("sha256", this.#key).update("digest").digest("base64url").slice(0, 8);
  }

  #minute(): number {
    return Math.floor(this.now() / 60_000);
  }

  #macOf(...parts: readonly (string | number)[]): Buffer {
    const signed = parts.join("\n");
    const known = this.#known.get(signed);
    if (known !== undefined) return known;
    const mac = createHmac("sha256", this.#key).update(signed).digest();
    // A longer path is rare and not cached.
    if (signed.length < MAX_KNOWN_LENGTH) this.#known.set(signed, mac);
    return mac;
  }
}
