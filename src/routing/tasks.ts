/** Which client owns a task of a server, under which handle, and how do task methods reach that server? */

import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  timingSafeEqual,
} from "node:crypto";
import { LRUCache } from "lru-cache";
import type { Catalog } from "../catalog/catalog.js";
import type { Call, Handler, Reply } from "../core/call.js";
import { ANONYMOUS, type Client } from "../core/client.js";
import { GatewayError, unknownMethod } from "../core/errors.js";
import { taskFlaw } from "../core/list-entries.js";
import { withIssuer, withoutIssuer } from "../core/owners.js";
import { principalKey } from "../core/principal.js";
import { supportsTaskList, supportsTasks } from "../core/tasks.js";
import { entryAndKeyLimit } from "../runtime/cache-limits.js";
import { type JsonObject, stringAt } from "../wire/json.js";
import { parseJson, writeJson } from "../wire/json-text.js";
import { mergedList } from "./merged-list.js";
import type { Send } from "./router.js";

interface TaskCallsOptions {
  readonly catalog: Pick<Catalog, "prepare" | "capabilities" | "reachable">;
  readonly tasks: Pick<Tasks, "find" | "handleInList" | "serversOf" | "report">;
  readonly send: Send;
  /** Sends the request for one server's part of a list. */
  readonly sendEach: Send;
}

/** The task methods. */
interface TaskCalls {
  /** For the methods of `TASK_METHODS`; `locate` has set the route. */
  readonly request: Handler;
  readonly list: Handler;
}

/** @throws GatewayError for an unknown task, and where no visible server has tasks. */
export function taskCalls({ catalog, tasks, send, sendEach }: TaskCallsOptions): TaskCalls {
  const serversWith = (call: Call, has: (capabilities: JsonObject | undefined) => boolean) => {
    const reachable = catalog.reachable(call.client, call.method);
    const servers = reachable.filter((name) => has(catalog.capabilities(name, call.client)));
    if (servers.length === 0) throw unknownMethod(call.method);
    return servers;
  };

  async function ask(call: Call): Promise<Reply> {
    const task = tasks.find(call.client, stringAt(call.params, "taskId") ?? "");
    if (task !== undefined && call.route !== undefined) {
      const reply = await send(task.server, call, { ...call.params, taskId: task.id });
      // The result is given when the task has ended, and does not say so itself.
      if (call.method === "tasks/result" && reply.kind === "result")
        tasks.report(task.server, task.id, { status: "completed" });
      return reply;
    }
    serversWith(call, supportsTasks);
    // A task of another client and one that never existed get the same error.
    throw new GatewayError("unknown_target", "downstream", "there is no such task");
  }

  async function list(call: Call): Promise<Reply> {
    await catalog.prepare(call.client);
    const owning = tasks.serversOf(call.client);
    // Only servers with known tasks of this client are queried, so that none is connected in vain.
    const servers = serversWith(call, supportsTaskList).filter((server) => owning.has(server));
    // A host validates the list as a whole, so a malformed task is left out. A server that shares one
    // connection lists the tasks of other clients as well; they are left out too.
    const show = (server: string, item: JsonObject): JsonObject | undefined => {
      const id = stringAt(item, "taskId");
      const taskId = id === undefined ? undefined : tasks.handleInList(call.client, server, id);
      return taskId === undefined || taskFlaw(item) !== undefined ? undefined : { ...item, taskId };
    };
    return mergedList({ call, servers, member: "tasks", send: sendEach, show });
  }

  return { request: ask, list };
}

/** A task that was reported to a client. */
interface KnownTask {
  readonly task: Task;
  /** The client of the last report. */
  readonly client: Client;
  /** Until when (`performance.now()`) it counts as open; 0 once it has ended. */
  readonly openUntil: number;
}

/** A task without a time-to-live, or with a longer one, counts as open for this time (ms) after each report. */
const MAX_OPEN_MS = 24 * 60 * 60_000;
/** The statuses after which a task does not change (2025-11-25: basic/utilities/tasks; SEP-2663). */
const ENDED: ReadonlySet<unknown> = new Set(["completed", "failed", "cancelled"]);

/** The limits: tasks, and the characters of their ids together. */
const LIMITS = entryAndKeyLimit(10_000, 16 * 1024 * 1024);

/**
 * Handles are self-contained, so task methods need no memory. The memory maps a server's notification to the
 * client of the task; it is bounded, and the client of a forgotten task gets no notifications until its next
 * request.
 */
export class Tasks {
  readonly #handles: TaskHandles;
  readonly #known = new LRUCache<string, KnownTask>(LIMITS);

  /** @param key and `issuer`: see `TaskHandles` */
  constructor(key: KeyObject, issuer?: string) {
    this.#handles = new TaskHandles(key, issuer);
  }

  /** Assigns `task` to `client` and returns its handle. `state`: what the server says of it, where it says something. */
  expose(client: Client, task: Task, state?: JsonObject): string {
    const key = keyOf(task.server, task.id);
    const openUntil = state === undefined ? (this.#known.peek(key)?.openUntil ?? 0) : openUntilOf(state);
    this.#known.set(key, { task, client: withoutClientInfo(client), openUntil });
    return this.#handles.seal(task, client);
  }

  /** Records what the server says of its task `id` between calls. */
  report(server: string, id: string, state: JsonObject): void {
    const key = keyOf(server, id);
    const known = this.#known.peek(key);
    if (known !== undefined) this.#known.set(key, { ...known, openUntil: openUntilOf(state) });
  }

  /** Whether a task of `server` is open that a client with this affinity (undefined: any client) created. */
  hasOpen(server: string, affinity: string | undefined): boolean {
    const now = performance.now();
    for (const { task, client, openUntil } of this.#known.values()) {
      if (openUntil <= now || task.server !== server) continue;
      if (affinity === undefined || client.affinity === affinity) return true;
    }
    return false;
  }

  /** The task of `handle`; undefined for a forged handle, and for one of another client. */
  find(client: Client, handle: string): Task | undefined {
    return this.#handles.open(handle, client);
  }

  /** The client that owns the server's task `id`, and its handle. */
  ownerOf(server: string, id: string): { readonly client: Client; readonly handle: string } | undefined {
    const known = this.#known.get(keyOf(server, id));
    return known && { client: known.client, handle: this.#handles.seal(known.task, known.client) };
  }

  /** The servers with tasks that `client` may list. */
  serversOf(client: Client): ReadonlySet<string> {
    const known = [...this.#known.values()].filter((one) => ownerKey(one.client) === ownerKey(client));
    return new Set(known.map(({ task }) => task.server));
  }

  /** The handle of a task in the list of `client`; undefined for a task of another client. */
  handleInList(client: Client, server: string, id: string): string | undefined {
    const known = this.#known.get(keyOf(server, id));
    if (known === undefined || ownerKey(known.client) !== ownerKey(client)) return undefined;
    return this.#handles.seal(known.task, client);
  }
}

/**
 * Anonymous clients all have the same principal; each sees only the tasks that it created itself
 * (2025-11-25: basic/utilities/tasks, "Task Isolation and Access Control").
 */
const ownerKey = ({ principal, affinity }: Client): string =>
  principal.id === ANONYMOUS.id ? `client ${affinity}` : `principal ${principalKey(principal)}`;

/** Drops capabilities and info, which may be large and do not identify the owner. */
const withoutClientInfo = ({ principal, affinity, session, endpoint }: Client): Client => ({
  ...{ principal, affinity, session, endpoint },
  capabilities: {},
});

function openUntilOf({ status, ttl, ttlMs }: JsonObject): number {
  if (ENDED.has(status)) return 0;
  const given = [ttlMs, ttl].find((value) => typeof value === "number");
  return performance.now() + Math.min(typeof given === "number" ? given : MAX_OPEN_MS, MAX_OPEN_MS);
}

const keyOf = (server: string, id: string): string => `${server}\0${id}`;

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
   * @param issuer this process, where there are others; the handle carries it
   * @throws RangeError when the key is not 32 bytes long.
   */
  constructor(
    key: KeyObject,
    private readonly issuer?: string,
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
    return withIssuer(this.issuer, PREFIX + sealed);
  }

  /** The task of a handle; undefined for a forged handle, and for one of another client. */
  open(issued: string, client: Client): Task | undefined {
    const handle = this.issuer === undefined ? issued : withoutIssuer(issued);
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
const bindingOf = ({ principal, endpoint, session }: Client) => [principalKey(principal), endpoint, session];

const derived = (key: KeyObject, purpose: string): KeyObject =>
  createSecretKey(Buffer.from(hkdfSync("sha256", key, "", purpose, 32)));
