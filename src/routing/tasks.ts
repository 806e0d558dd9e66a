/** The tasks that servers have begun for clients: under which handle each client knows its own, and whose they are. */
import type { KeyObject } from "node:crypto";
import { LRUCache } from "lru-cache";
import { ANONYMOUS, type Client } from "../core/client.js";
import { entryAndKeyLimit } from "../runtime/cache-limits.js";
import { type Task, TaskHandles } from "./task-handles.js";

/** A task that somebody was told of a while ago. */
interface KnownTask {
  readonly task: Task;
  /** Who was told of it last. */
  readonly client: Client;
}

/** What is remembered at most: so many tasks, with ids of so many characters together. */
const LIMITS = entryAndKeyLimit(10_000, 16 * 1024 * 1024);

/**
 * Handles say by themselves whose they are, so nothing that is remembered here is needed to ask after a task. It
 * leads the other way: from what a server tells by itself to the client that it concerns. Bounded: of a task that
 * is forgotten its client hears nothing until it asks.
 */
export class Tasks {
  readonly #handles: TaskHandles;
  readonly #known = new LRUCache<string, KnownTask>(LIMITS);

  /** @param key and `worker`: see `TaskHandles` */
  constructor(key: KeyObject, worker?: number) {
    this.#handles = new TaskHandles(key, worker);
  }

  /** The handle under which `client` is told of `task`, which is its task from now on. */
  expose(client: Client, task: Task): string {
    this.#known.set(keyOf(task.server, task.id), { task, client: withoutClientInfo(client) });
    return this.#handles.seal(task, client);
  }

  /** The task of `handle`; undefined for one that was made up, tampered with, or given to somebody else. */
  find(client: Client, handle: string): Task | undefined {
    return this.#handles.open(handle, client);
  }

  /** The client that the task which `server` calls `id` belongs to, and its handle there. */
  ownerOf(server: string, id: string): { readonly client: Client; readonly handle: string } | undefined {
    const known = this.#known.get(keyOf(server, id));
    return known && { client: known.client, handle: this.#handles.seal(known.task, known.client) };
  }

  /** The servers that have tasks which `client` sees in a list. */
  serversOf(client: Client): ReadonlySet<string> {
    const known = [...this.#known.values()].filter((one) => ownerKey(one.client) === ownerKey(client));
    return new Set(known.map(({ task }) => task.server));
  }

  /** The handle under which `client` sees that task in a list; undefined when it is not for its eyes. */
  handleInList(client: Client, server: string, id: string): string | undefined {
    const known = this.#known.get(keyOf(server, id));
    if (known === undefined || ownerKey(known.client) !== ownerKey(client)) return undefined;
    return this.#handles.seal(known.task, client);
  }
}

/**
 * Where nobody says who they are, everybody would be the same principal; then a client sees only what it began
 * itself (2025-11-25: basic/utilities/tasks, "Task Isolation and Access Control").
 */
const ownerKey = ({ principal, affinity }: Client): string =>
  principal.id === ANONYMOUS.id ? `client ${affinity}` : `principal ${principal.id}`;

/** What a client declares and calls itself may be long, and says nothing of whose task it is. */
const withoutClientInfo = ({ principal, affinity, session, endpoint }: Client): Client => ({
  ...{ principal, affinity, session, endpoint },
  capabilities: {},
});

const keyOf = (server: string, id: string): string => `${server}\0${id}`;
