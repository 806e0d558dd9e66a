/**
 * How a task id becomes the handle that a client knows: it names the server, hides the id, and opens for its
 * principal only.
 */
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  timingSafeEqual,
} from "node:crypto";
import type { Client } from "../core/client.js";
import { withoutWorkerPrefix, withWorkerPrefix } from "../core/worker-identity.js";
import { parseJson, writeJson } from "../wire/json-text.js";

/** A task as its server knows it. */
export interface Task {
  /** The server, by its key in the config. */
  readonly server: string;
  /** The server's own id. */
  readonly id: string;
  /** The server's own name of the tool whose call began it; "" where that is not known. */
  readonly tool: string;
}

/** Version of the format. */
const PREFIX = "task1.";
const CIPHER = "aes-256-ctr";
const TAG_BYTES = 16;
/** Upper bound (characters) of the handles of plausible task ids. */
const MAX_HANDLE_LENGTH = 8192;

/**
 * Seals and opens handles. One task always has the same handle, because clients compare handles. So the
 * encryption is deterministic: the authentication tag is the initialization vector (SIV, RFC 5297, with
 * HMAC-SHA-256), which reveals nothing but the equality of two tasks.
 */
export class TaskHandles {
  readonly #encryption: KeyObject;
  readonly #authentication: KeyObject;

  /**
   * @param key a secret of 32 bytes, the same in every process that serves task methods
   * @param worker the number of this worker, where there are others; the handle carries it
   * @throws RangeError when the key is not 32 bytes long.
   */
  constructor(
    key: KeyObject,
    private readonly worker?: number,
  ) {
    if (key.symmetricKeySize !== 32)
      throw new RangeError("the key that seals task handles must be 32 bytes long");
    this.#encryption = derived(key, "cardea task handles: encryption");
    this.#authentication = derived(key, "cardea task handles: authentication");
  }

  /** The handle of `task` for clients like `client`. */
  seal(task: Task, client: Client): string {
    const clear = Buffer.from(writeJson([task.server, task.id, task.tool]), "utf8");
    const tag = this.#tagOf(clear, client);
    const cipher = createCipheriv(CIPHER, this.#encryption, tag);
    const sealed = Buffer.concat([tag, cipher.update(clear), cipher.final()]).toString("base64url");
    return withWorkerPrefix(this.worker, PREFIX + sealed);
  }

  /** The task of a handle; undefined for a forged handle, and for one of another client. */
  open(issued: string, client: Client): Task | undefined {
    const handle = this.worker === undefined ? issued : withoutWorkerPrefix(issued);
    const text =
      handle.startsWith(PREFIX) && handle.length <= MAX_HANDLE_LENGTH ? handle.slice(PREFIX.length) : "";
    const bytes = Buffer.from(text, "base64url");
    // Node's decoder skips invalid characters, so several texts could decode to the same bytes.
    if (bytes.length <= TAG_BYTES || bytes.toString("base64url") !== text) return undefined;
    const tag = bytes.subarray(0, TAG_BYTES);
    const decipher = createDecipheriv(CIPHER, this.#encryption, tag);
    const clear = Buffer.concat([decipher.update(bytes.subarray(TAG_BYTES)), decipher.final()]);
    if (!timingSafeEqual(tag, this.#tagOf(clear, client))) return undefined;
    const [server = "", id = "", tool = ""] = parseJson(clear.toString("utf8")) as readonly string[];
    return { server, id, tool };
  }

  #tagOf(clear: Buffer, client: Client): Buffer {
    const binding = Buffer.from(writeJson(bindingOf(client)), "utf8");
    const length = Buffer.alloc(4);
    length.writeUInt32BE(binding.length);
    const mac = createHmac("sha256", this.#authentication).update(length).update(binding).update(clear);
    return mac.digest().subarray(0, TAG_BYTES);
  }
}

/**
 * What a handle is bound to. Not the session: clients keep handles across restarts. Tasks of clients with
 * sessions and of those without differ on the wire, so neither can use the handles of the other.
 */
const bindingOf = ({ principal, endpoint, session }: Client) => [principal.id, endpoint, session];

const derived = (key: KeyObject, purpose: string): KeyObject =>
  createSecretKey(Buffer.from(hkdfSync("sha256", key, "", purpose, 32)));
