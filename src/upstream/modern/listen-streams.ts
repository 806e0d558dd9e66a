/**
 * Which `subscriptions/listen` streams does a connection keep open? One for all clients; where the server is a gateway,
 * which notifies by the capabilities of the client that listens, one more per capability class; one per request that
 * follows tasks, as only its own client may know a task.
 */

import type { Client } from "../../core/client.js";
import type { TaskListener, TaskSubscription } from "../../core/tasks.js";
import { type Envelope, idKey, integerInText, type RpcError } from "../../wire/envelope.js";
import { type JsonObject, objectAt, stringAt } from "../../wire/json.js";
import { canonicalText } from "../../wire/json-text.js";
import { META } from "../../wire/names.js";
import { type ListenSettings, type OpenStream, Subscriptions } from "./subscriptions.js";

/** How the listen streams of one connection are opened. */
interface ListenStreamsSettings extends Omit<ListenSettings, "open" | "uris"> {
  /** `advertised` is what the listening client can do; undefined for the gateway itself. */
  readonly open: (
    params: JsonObject,
    onMessage: (message: Envelope) => void,
    advertised?: JsonObject,
  ) => ReturnType<ListenSettings["open"]>;
  readonly isGateway: () => boolean;
}

/** Clients use few combinations of capabilities; the least recently used stream is closed for another one. */
const MAX_CAPABILITY_CLASSES = 8;

/** All listen streams of one connection. A followed resource is in the filter of each of them. */
export class ListenStreams {
  readonly #settings: ListenStreamsSettings;
  readonly #uris = new Set<string>();
  readonly #shared: Subscriptions;
  readonly #byCapabilities = new Map<string, Subscriptions>();
  #stopped = false;

  constructor(settings: ListenStreamsSettings) {
    this.#settings = settings;
    this.#shared = new Subscriptions({ ...settings, uris: this.#uris });
    this.#shared.start();
  }

  /** A client with these capabilities lists; the changes of its lists must be notified. */
  ensureStreamFor(advertised: JsonObject): void {
    if (this.#stopped || !this.#settings.isGateway() || Object.keys(advertised).length === 0) return;
    const kind = canonicalText(advertised);
    const known = this.#byCapabilities.get(kind);
    const stream = known ?? this.#openStreamFor(advertised);
    this.#byCapabilities.delete(kind);
    this.#byCapabilities.set(kind, stream);
    const [oldest] = this.#byCapabilities;
    if (this.#byCapabilities.size <= MAX_CAPABILITY_CLASSES || oldest === undefined) return;
    const [kindOfOldest, evicted] = oldest;
    evicted.stop();
    this.#byCapabilities.delete(kindOfOldest);
  }

  subscribe(uri: string): void {
    this.#uris.add(uri);
    for (const stream of this.#all()) stream.subscribed();
  }

  unsubscribe(uri: string): void {
    this.#uris.delete(uri);
    for (const stream of this.#all()) stream.unsubscribed(uri);
  }

  subscriptionError(uri: string): Promise<RpcError | undefined> {
    return this.#shared.subscriptionError(uri);
  }

  /** Takes a message that carries a subscription id; false when it belongs to none of these streams. */
  receive(message: Envelope): boolean {
    return this.#all().some((stream) => stream.receive(message));
  }

  refilter(): void {
    for (const stream of this.#all()) stream.refilter();
  }

  reopen(): void {
    for (const stream of this.#all()) stream.reopen();
  }

  stop(): void {
    this.#stopped = true;
    for (const stream of this.#all()) stream.stop();
    this.#byCapabilities.clear();
  }

  #openStreamFor(advertised: JsonObject): Subscriptions {
    const { open } = this.#settings;
    const stream = new Subscriptions({
      ...this.#settings,
      uris: this.#uris,
      open: (params, onMessage) => open(params, onMessage, advertised),
    });
    stream.start();
    return stream;
  }

  #all(): readonly Subscriptions[] {
    return [this.#shared, ...this.#byCapabilities.values()];
  }
}

/** Sends a listen request for `client`, and returns its id at once. */
type OpenTaskStream = (
  params: JsonObject,
  onMessage: (message: Envelope) => void,
  client: Client,
) => OpenStream;

interface TaskStream extends OpenStream {
  readonly receive: (message: Envelope) => void;
}

/** A server that has not acknowledged within this time (ms) is taken to notify of no task. */
const ACKNOWLEDGE_TIMEOUT_MS = 3_000;

const NO_TASKS: TaskSubscription = { ids: [], stop: () => {} };

/** All task streams of one connection. */
export class TaskStreams {
  readonly #open: OpenTaskStream;
  readonly #streams = new Map<number, TaskStream>();

  constructor(open: OpenTaskStream) {
    this.#open = open;
  }

  /** Resolves to those of `ids` that the server acknowledged (SEP-2663, "Task Status Notifications"). */
  follow(ids: readonly string[], client: Client, listener: TaskListener<string>): Promise<TaskSubscription> {
    return new Promise((resolve) => {
      let agreed: readonly string[] | undefined;
      let ended = false;
      const onMessage = ({ method, params }: Envelope): void => {
        if (ended) return;
        if (method === "notifications/subscriptions/acknowledged" && agreed === undefined) {
          const acknowledged = objectAt(params, "notifications")?.taskIds;
          const named: readonly unknown[] = Array.isArray(acknowledged) ? acknowledged : [];
          agreed = ids.filter((id) => named.includes(id));
          if (agreed.length === 0) end();
          else resolve({ ids: agreed, stop: end });
        } else if (method === "notifications/tasks") {
          const id = stringAt(params, "taskId");
          if (id !== undefined && agreed?.includes(id) === true) listener.changed(id);
        } else if (method === "notifications/cancelled") onEnded();
      };
      const stream: TaskStream = {
        ...this.#open({ notifications: { taskIds: ids } }, (message) => onMessage(message), client),
        receive: onMessage,
      };
      this.#streams.set(stream.id, stream);
      const end = (): void => {
        if (ended) return;
        ended = true;
        clearTimeout(timer);
        resolve(NO_TASKS);
        this.#streams.delete(stream.id);
        stream.close();
      };
      const timer = setTimeout(() => {
        if (agreed === undefined) end();
      }, ACKNOWLEDGE_TIMEOUT_MS);
      const onEnded = (): void => {
        if (ended) return;
        end();
        if (agreed !== undefined) listener.lost();
      };
      stream.ended.then(onEnded, onEnded);
    });
  }

  /** Takes a message that carries a subscription id; false when it belongs to none of these streams. */
  receive(message: Envelope): boolean {
    const named =
      objectAt(message.params, "_meta")?.[META.subscriptionId] ??
      (message.method === "notifications/cancelled" ? message.params?.requestId : undefined);
    const id = integerInText(named) ?? idKey(named);
    const stream = typeof id === "number" ? this.#streams.get(id) : undefined;
    stream?.receive(message);
    return stream !== undefined;
  }

  stop(): void {
    for (const stream of [...this.#streams.values()]) stream.close();
  }
}
