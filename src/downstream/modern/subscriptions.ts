/** How does `subscriptions/listen` open a subscription, and how many may be open (2026-07-28: basic/patterns/subscriptions)? */
import type { Call } from "../../core/call.js";
import type { Client, Principal } from "../../core/client.js";
import { GatewayError, overloaded } from "../../core/errors.js";
import { MemoryBudget } from "../../core/fair-share.js";
import type { Change, ChangeFeed, GatewayApi } from "../../core/gateway-api.js";
import { LIST_KINDS, LISTS, type ListKind } from "../../core/lists.js";
import { TASKS_EXTENSION } from "../../core/methods.js";
import type { MessageId, Request } from "../../wire/envelope.js";
import { type JsonObject, objectAt } from "../../wire/json.js";
import { writeJson } from "../../wire/json-text.js";
import { META } from "../../wire/names.js";
import { Payload } from "../../wire/payload.js";
import type { StreamQuota } from "../edge.js";
import type { ResponseSink } from "./event-stream.js";
import { declaresExtension, undeclaredExtension } from "./methods.js";
import { malformed } from "./read-meta.js";
import type { WriteReply } from "./write-reply.js";

interface Filter {
  readonly lists: ReadonlySet<ListKind>;
  readonly uris: readonly string[];
  /** The handles of tasks (SEP-2663, "Task Status Notifications"). */
  readonly tasks: readonly string[];
}

/** The member of the filter for this list; templates have none of their own and go with the resources. */
const filterMember = (kind: ListKind) => `${LISTS[kind].capability}ListChanged`;

/**
 * Reads the filter of a listen request.
 * @param maxUris the most resources, and the most tasks, that one subscription may name
 * @throws GatewayError -32602 when it is not one.
 */
function readFilter(request: Request, maxUris: number): Filter {
  const sent = objectAt(request.params, "notifications");
  if (sent === undefined) throw malformed("notifications must be there and be an object");
  return {
    lists: new Set(LIST_KINDS.filter((kind) => sent[filterMember(kind)] === true)),
    uris: readNames(sent, "resourceSubscriptions", maxUris),
    tasks: readNames(sent, "taskIds", maxUris),
  };
}

function readNames(sent: JsonObject, member: string, most: number): readonly string[] {
  const names = Object.hasOwn(sent, member) ? sent[member] : [];
  if (!Array.isArray(names) || !names.every((name) => typeof name === "string")) {
    throw malformed(`notifications.${member} must be a list of strings`);
  }
  if (names.length > most) throw malformed(`one subscription may name at most ${most} in ${member}`);
  return [...new Set(names)];
}

interface Subscriber {
  /** Of the listen request; every message is stamped with it. */
  readonly id: MessageId;
  readonly client: Client;
  readonly send: (message: string) => void;
  /** Called when something that was acknowledged can be delivered no longer. */
  readonly onLost: () => void;
}

/**
 * Acknowledges what will be delivered and delivers it, as soon as it is known what servers will tell of. Call the
 * function that it resolves to, to stop.
 *
 * @throws GatewayError `overloaded` when a server has no room for another client; then nothing is left behind.
 */
async function listen(
  filter: Filter,
  subscriber: Subscriber,
  gateway: Pick<GatewayApi, "changes" | "followTasks">,
): Promise<() => void> {
  const { id, client, send } = subscriber;
  const notify = (method: string, params: JsonObject): void => {
    const _meta = { ...objectAt(params, "_meta"), [META.subscriptionId]: id };
    send(writeJson({ jsonrpc: "2.0", method, params: { ...params, _meta } }));
  };
  const taskChanges = buffered((task: JsonObject) => notify("notifications/tasks", task));
  const tasks =
    filter.tasks.length === 0
      ? undefined
      : await gateway.followTasks?.(client, filter.tasks, {
          changed: taskChanges.hear,
          lost: subscriber.onLost,
        });
  const changes = buffered((change: Change) => {
    if (change.kind === "unfollowed") subscriber.onLost();
    else notifyChange(change, notify);
  });
  const stops: (() => void)[] = [() => tasks?.stop()];
  const stop = (): void => {
    for (const end of stops.splice(0)) end();
  };
  try {
    if (filter.lists.size > 0) {
      stops.push(
        gateway.changes.subscribe(client, { lists: filter.lists, resources: EMPTY_SET }, changes.hear),
      );
    }
    const uris = await followResources(filter.uris, client, gateway.changes, changes.hear, stops);
    // The acknowledgement must be the first message, so earlier changes are buffered.
    notify("notifications/subscriptions/acknowledged", {
      notifications: acknowledgedFilter(filter, uris, tasks?.ids ?? []),
    });
    taskChanges.release();
    changes.release();
  } catch (error) {
    stop();
    throw error;
  }
  return stop;
}

/** Follows the resources that have an owner and that no server refuses; adds the unsubscribe functions to `stops`. */
async function followResources(
  uris: readonly string[],
  client: Client,
  feed: ChangeFeed,
  onChange: (change: Change) => void,
  stops: (() => void)[],
): Promise<readonly string[]> {
  if (uris.length === 0) return uris;
  const followable = [...(await feed.followable(client, uris)).keys()];
  if (followable.length === 0) return followable;
  const unsubscribe = feed.subscribe(client, { lists: EMPTY_SET, resources: new Set(followable) }, onChange);
  stops.push(unsubscribe);
  const refused = await feed.refusals?.(client, followable);
  if (refused === undefined || refused.size === 0) return followable;
  const kept = followable.filter((uri) => !refused.has(uri));
  if (kept.length > 0) {
    stops.push(feed.subscribe(client, { lists: EMPTY_SET, resources: new Set(kept) }, onChange));
  }
  unsubscribe();
  return kept;
}

const EMPTY_SET: ReadonlySet<never> = new Set();

function buffered<T>(say: (news: T) => void): { hear: (news: T) => void; release: () => void } {
  let early: T[] | undefined = [];
  return {
    hear: (news) => {
      if (early === undefined) say(news);
      else early.push(news);
    },
    release: () => {
      for (const news of early ?? []) say(news);
      early = undefined;
    },
  };
}

function notifyChange(
  change: Exclude<Change, { readonly kind: "unfollowed" }>,
  say: (method: string, params: JsonObject) => void,
): void {
  if (change.kind === "list") say(LISTS[change.list].changed, {});
  else say("notifications/resources/updated", { uri: change.uri });
}

function acknowledgedFilter(
  { lists }: Filter,
  uris: readonly string[],
  tasks: readonly string[],
): JsonObject {
  return {
    ...Object.fromEntries([...lists].map((kind) => [filterMember(kind), true])),
    ...(uris.length > 0 && { resourceSubscriptions: uris }),
    ...(tasks.length > 0 && { taskIds: tasks }),
  };
}

/** The result that ends a subscription gracefully. */
const closingResult = (id: MessageId): JsonObject => ({ _meta: { [META.subscriptionId]: id } });

interface SubscriptionLimits {
  readonly subscriptions: number;
  /** The most resources that one of them may name. */
  readonly resourcesEach: number;
}

/** The open subscriptions of the HTTP listener, or of one pipe. */
export class OpenSubscriptions {
  readonly #open = new Set<() => void>();

  constructor(
    private readonly gateway: Pick<GatewayApi, "changes" | "followTasks">,
    private readonly writeReply: WriteReply,
    private readonly limits: SubscriptionLimits,
    private readonly streamQuota: StreamQuota,
    private readonly memoryBudget: MemoryBudget = new MemoryBudget(),
  ) {}

  /**
   * Answers a listen request with a subscription that lasts until the client gives it up.
   * @throws GatewayError `overloaded`, or `bad_request` when the filter cannot be read or asks for tasks that the
   * client has not declared
   */
  async open(request: Request, call: Call, sink: ResponseSink): Promise<void> {
    const filter = readFilter(request, this.limits.resourcesEach);
    if (filter.tasks.length > 0 && !declaresExtension(call.client, TASKS_EXTENSION))
      throw undeclaredExtension(TASKS_EXTENSION);
    if (this.#open.size >= this.limits.subscriptions) {
      throw overloaded("too many subscriptions are open");
    }
    if (sink.signal.aborted) return;
    const release = this.#reserve(call.client.principal, retainedSizeOf(filter));
    // A subscription may last for days; of what its request said only the filter is needed.
    const asked: Call = { ...call, params: NO_PARAMS };
    const { id } = request;
    let stop: (() => void) | undefined;
    const end = (): void => {
      if (!this.#open.delete(end)) return;
      release();
      stop?.();
      const result = Payload.ofObject(closingResult(id));
      sink.respond(this.writeReply(id, asked, { kind: "result", result }));
    };
    this.#open.add(end);
    sink.signal.addEventListener("abort", end, { once: true });
    const send = (message: string): void => sink.send(message);
    try {
      stop = await listen(filter, { id, client: asked.client, send, onLost: end }, this.gateway);
    } catch (error) {
      if (this.#open.delete(end)) release();
      throw error;
    }
    // It may have ended before it had begun.
    if (!this.#open.has(end)) stop();
  }

  /** A place for a stream, and for what is kept of its filter. @throws GatewayError `overloaded` */
  #reserve(principal: Principal, characters: number): () => void {
    if (characters > MAX_CHARACTERS) {
      const most = `the names in the filter of one subscription may have ${MAX_CHARACTERS} characters in all`;
      throw malformed(most);
    }
    const share = this.memoryBudget.shareOf(principal);
    const release = this.streamQuota.acquire(principal);
    if (share.reserve(characters)) {
      return () => {
        release();
        share.release(characters);
      };
    }
    release();
    throw new GatewayError("overloaded", "downstream", "too many resource subscriptions for this principal", {
      retryable: true,
      retryAfterMs: 5_000,
    });
  }

  /** Ends each with its answer, as a server that stops should. */
  endAll(): void {
    for (const end of this.#open) end();
  }
}

/** What all URIs and handles of one subscription may have together. */
const MAX_CHARACTERS = 262_144;
/** What is kept beside each of them. */
const OVERHEAD_PER_NAME = 500;
const NO_PARAMS: Call["params"] = Object.freeze({});

const retainedSizeOf = ({ uris, tasks }: Filter): number =>
  [...uris, ...tasks].reduce((sum, { length }) => sum + length + OVERHEAD_PER_NAME, OVERHEAD_PER_NAME);
