/** Authenticated encryption (AES-256-GCM) of values that a browser or host returns unchanged. */
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
} from "node:crypto";

/** The purpose of a sealed text. A text sealed for one use cannot be opened for another. */
export type SealedUse = "registration" | "consent" | "login";

const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const CIPHER = "aes-256-gcm";

/** Seals values under keys derived from one secret. */
export class Sealing {
  readonly #secret: Buffer;

  /** @param secret at least 32 random bytes */
  constructor(secret: Buffer) {
    this.#secret = secret;
  }

  /** Base64url text that only `open` with the same use can read. */
  seal(use: SealedUse, value: unknown): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.#key(use), nonce, { authTagLength: TAG_BYTES });
    const sealed = [nonce, cipher.update(JSON.stringify(value), "utf8"), cipher.final(), cipher.getAuthTag()];
    return Buffer.concat(sealed).toString("base64url");
  }

  /** The sealed value; undefined for any text that `seal` did not make for this use. */
  open(use: SealedUse, text: string): unknown {
    const bytes = Buffer.from(text, "base64url");
    // The decoder skips what is no base64url: without this, many texts would be one.
    if (bytes.length <= NONCE_BYTES + TAG_BYTES || bytes.toString("base64url") !== text) return undefined;
    const decipher = createDecipheriv(CIPHER, this.#key(use), bytes.subarray(0, NONCE_BYTES), {
      authTagLength: TAG_BYTES,
    });
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
    try {
      const opened = [decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()];
      return JSON.parse(Buffer.concat(opened).toString("utf8")) as unknown;
    } catch {
      // The exception only means that the authentication tag is wrong.
      return undefined;
    }
  }

  /** An authentication code for `text`, in base64url. */
  sign(text: string): string {
    return createHmac("sha256", this.#key("codes and refresh tokens")).update(text).digest("base64url");
  }

  #key(use: string): Uint8Array {
    return new Uint8Array(hkdfSync("sha256", this.#secret, "", `cardea authorization server\0${use}`, 32));
  }
}

/** SHA-256 in base64url. */
export const digestOf = (text: string): string => createHash("sha256").update(text).digest("base64url");

/** 256 random bits in base64url. */
export const randomText = (): string => randomBytes(32).toString("base64url");

/** Compares in constant time. */
export function isSame(a: string, b: string): boolean {
  return timingSafeEqual(createHash("sha256").update(a).digest(), createHash("sha256").update(b).digest());
}
