/** The format of a record: one line `{"v":1,"kid","n"}`, then AES-256-GCM of its JSON, bound to the file name. */
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { type Keyring, type MasterKey, recordKey } from "./keyring.js";

const VERSION = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const CIPHER = "aes-256-gcm";
const NEW_LINE = 0x0a;
/** The header line is about 60 bytes long. */
const MAX_HEADER_BYTES = 200;

/** The content of a file, or why it is unusable. */
export type Unsealed =
  | { readonly ok: true; readonly value: unknown; readonly kid: string }
  /** No key in the keyring has the id `kid`. */
  | { readonly ok: false; readonly fault: "key"; readonly kid: string }
  /** `reason` is the end of a sentence about the file. */
  | { readonly ok: false; readonly fault: "damaged"; readonly reason: string };

/** The bytes of a file called `file` that holds `value`. */
export function seal(value: unknown, file: string, key: MasterKey): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const header = JSON.stringify({ v: VERSION, kid: key.kid, n: nonce.toString("base64url") });
  const cipher = createCipheriv(CIPHER, recordKey(key, file), nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(boundTo(key.kid, file));
  const sealed = [cipher.update(JSON.stringify(value), "utf8"), cipher.final(), cipher.getAuthTag()];
  return Buffer.concat([Buffer.from(`${header}\n`), ...sealed]);
}

/** The content of `bytes` from the file called `file`. Never throws. */
export function unseal(bytes: Buffer, file: string, keyring: Keyring): Unsealed {
  const header = readHeader(bytes);
  if (typeof header === "string") return { ok: false, fault: "damaged", reason: header };
  const { kid, nonce, body } = header;
  const key = keyring.find((each) => each.kid === kid);
  if (key === undefined) return { ok: false, fault: "key", kid };
  const decipher = createDecipheriv(CIPHER, recordKey(key, file), nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(boundTo(kid, file));
  decipher.setAuthTag(body.subarray(-TAG_BYTES));
  try {
    const text = Buffer.concat([decipher.update(body.subarray(0, -TAG_BYTES)), decipher.final()]);
    return { ok: true, value: JSON.parse(text.toString("utf8")) as unknown, kid };
  } catch {
    // The exception only means that the authentication tag is wrong.
    return {
      ok: false,
      fault: "damaged",
      reason: "it was cut or changed, or is a copy of the file of another principal or server",
    };
  }
}

interface Header {
  readonly kid: string;
  readonly nonce: Buffer;
  readonly body: Buffer;
}

function readHeader(bytes: Buffer): Header | string {
  const end = bytes.subarray(0, MAX_HEADER_BYTES).indexOf(NEW_LINE);
  const line = end < 0 ? undefined : objectIn(bytes.toString("utf8", 0, end));
  if (line === undefined) return "its first line is wrong";
  const { v, kid, n } = line;
  if (v !== VERSION) return `it has format ${String(v).slice(0, 20)}, and this version reads ${VERSION}`;
  const nonce = typeof n === "string" ? Buffer.from(n, "base64url") : undefined;
  if (typeof kid !== "string" || nonce?.length !== NONCE_BYTES) return "its first line is wrong";
  const body = bytes.subarray(end + 1);
  return body.length > TAG_BYTES ? { kid, nonce, body } : "it was cut";
}

function objectIn(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

const boundTo = (kid: string, file: string): Buffer => Buffer.from(`${VERSION}\n${kid}\n${file}`);
