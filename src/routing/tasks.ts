/** Which client owns a task of a server, and under which handle. */
import type { KeyObject } from "node:crypto";
import { LRUCache } from "lru-cache";
import { ANONYMOUS, type Client } from "../core/client.js";
import { entryAndKeyLimit } from "../runtime/cache-limits.js";
import { type Task, TaskHandles } from "./task-handles.js";

/** A task that was reported to a client. */
interface KnownTask {
  readonly task: Task;
  /** The client of the last report. */
  readonly client: Client;
}

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

  /** @param key and `worker`: see `TaskHandles` */
  constructor(key: KeyObject, worker?: number) {
    this.#handles = new TaskHandles(key, worker);
  }

  /** Assigns `task` to `client` and returns its handle. */
  expose(client: Client, task: Task): string {
    this.#known.set(keyOf(task.server, task.id), { task, client: withoutClientInfo(client) });
    return this.#handles.seal(task, client);
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
  principal.id === ANONYMOUS.id ? `client ${affinity}` : `principal ${principal.id}`;

/** Drops capabilities and info, which may be large and do not identify the owner. */
const withoutClientInfo = ({ principal, affinity, session, endpoint }: Client): Client => ({
  ...{ principal, affinity, session, endpoint },
  capabilities: {},
});

const keyOf = (server: string, id: string): string => `${server}\0${id}`;
