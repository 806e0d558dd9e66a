/** The file of a session: AES-256-GCM of its record, bound to the session's id and the gateway's config. */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from "node:crypto";
import type { Principal } from "../../core/client.js";
import { principalKey } from "../../core/principal.js";
import type { SessionState } from "../../core/replicas.js";
import { recordIn, recordText } from "../../core/session-record.js";

const CIPHER = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const VERSION = Buffer.from([1]);
const NAME_LENGTH = 32;

/** Seals and opens the records of one gateway. */
export class SessionSeal {
  readonly #key: Buffer;
  readonly #nameKey: Buffer;
  readonly #digestKey: Buffer;

  /**
   * @param secret of the folder, or of the config
   * @param scope the gateway: another one neither finds nor opens its files
   */
  constructor(
    secret: string,
    private readonly scope: string,
  ) {
    const derived = (use: string): Buffer => Buffer.from(hkdfSync("sha256", secret, "cardea", use, 32));
    this.#key = derived("records of sessions");
    this.#nameKey = derived("names of sessions");
    this.#digestKey = derived("principals of sessions");
  }

  /** The name of a session's file; its id is a credential, and cannot be found from it. */
  nameOf(id: string): string {
    return createHmac("sha256", this.#nameKey).update(this.#context(id)).digest("hex").slice(0, NAME_LENGTH);
  }

  digestOf(principal: Principal): string {
    return createHmac("sha256", this.#digestKey).update(principalKey(principal)).digest("base64url");
  }

  /** @param at when the session was last used, by the time of day in ms */
  seal(id: string, state: SessionState, at: number): Buffer {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.#key, nonce, { authTagLength: TAG_BYTES });
    cipher.setAAD(Buffer.from(this.#context(id)));
    const text = recordText(1, state, this.digestOf(state.principal), at);
    return Buffer.concat([VERSION, nonce, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]);
  }

  /** The record in `bytes`; undefined for anything else than a record of this session. */
  open(id: string, bytes: Buffer): ReturnType<typeof recordIn> {
    const start = VERSION.length + NONCE_BYTES;
    if (bytes.length < start + TAG_BYTES || bytes[0] !== VERSION[0]) return undefined;
    const nonce = bytes.subarray(VERSION.length, start);
    const decipher = createDecipheriv(CIPHER, this.#key, nonce, { authTagLength: TAG_BYTES });
    decipher.setAAD(Buffer.from(this.#context(id)));
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
    try {
      const text = Buffer.concat([decipher.update(bytes.subarray(start, -TAG_BYTES)), decipher.final()]);
      return recordIn(text.toString("utf8"));
    } catch {
      // The exception only means that the authentication tag is wrong.
      return undefined;
    }
  }

  #context(id: string): string {
    return `${this.scope}\n${id}`;
  }
}
