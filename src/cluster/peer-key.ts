/**
 * Is a request that of another replica? Only admission: the owner of a session checks the host's own credentials, so that a
 * forwarded request may do nothing that the host itself may not.
 */
import { createHmac, hkdfSync, timingSafeEqual } from "node:crypto";
import { LRUCache } from "lru-cache";
import { HEADER } from "../wire/names.js";

/** What a header says that is genuine. */
export interface Admission {
  /** The id of the replica that sends it. */
  readonly from: string;
  /** How often the request has been forwarded. */
  readonly hops: number;
}

/** Clocks of replicas may differ by this many minutes; a header is worth something for as long. */
const MAX_SKEW_MINUTES = 10;
/** Most requests of a minute differ in nothing that is signed. */
const MAX_KNOWN = 100;
const MAX_KNOWN_LENGTH = 200;
const VALUE = /^([0-9a-z]{1,8})\.(\d{1,2})\.(\d{1,12})\.([\w-]{43})$/;

/** The secret that all replicas share. */
export class PeerKey {
  readonly #key: Buffer;
  /** By what they sign. */
  readonly #known = new LRUCache<string, Buffer>({ max: MAX_KNOWN });

  /** @param now the time of day in ms */
  constructor(
    secret: string,
    private readonly now: () => number = () => Date.now(),
  ) {
    this.#key = Buffer.from(hkdfSync("sha256", secret, "cardea", "requests of replicas", 32));
  }

  /** The header of a request of the replica `from`, name and value. */
  header(from: string, hops: number, method: string, path: string): readonly [name: string, value: string] {
    const minute = this.#minute();
    const mac = this.#macOf(from, hops, minute, method, path).toString("base64url");
    return [HEADER.peer, `${from}.${hops}.${minute}.${mac}`];
  }

  /** What the header of a request says; undefined where it is none of a replica. */
  verify(value: unknown, method: string, path: string): Admission | undefined {
    const parts = typeof value === "string" ? VALUE.exec(value) : null;
    if (parts === null) return undefined;
    const [, from = "", hopText, minuteText, mac = ""] = parts;
    const [hops, minute] = [Number(hopText), Number(minuteText)];
    if (Math.abs(minute - this.#minute()) > MAX_SKEW_MINUTES) return undefined;
    const expected = this.#macOf(from, hops, minute, method, path);
    return timingSafeEqual(expected, Buffer.from(mac, "base64url")) ? { from, hops } : undefined;
  }

  /** Tells two keys apart without giving either away. */
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
    // A longer path is rare, and not worth its memory.
    if (signed.length < MAX_KNOWN_LENGTH) this.#known.set(signed, mac);
    return mac;
  }
}
