/** How does a tool run as a task for a client without tasks, and which client gets the progress of a task whose call has ended? */

import { type Call, progressTokenOf } from "../../core/call.js";
import type { ClientDirectory } from "../../core/client.js";
import { Stop, type StopSignal } from "../../core/stop.js";
import { supportsTaskCalls } from "../../core/tasks.js";
import { type Envelope, idKey, integerInText, type MessageId, type Request } from "../../wire/envelope.js";
import { type JsonObject, numberOf, objectAt, stringAt, without } from "../../wire/json.js";
import { META } from "../../wire/names.js";
import type { ChannelResponse } from "../transport/channel.js";
import type { RunningCall } from "./running-call.js";

/** Sends a request as part of `running`, and resolves to its response. */
export type Exchange = (
  request: Request,
  running: RunningCall,
  signal: StopSignal,
) => Promise<ChannelResponse>;

/** The TTL (ms) of the task: the longest time a call may take. */
const TTL_MS = 3_600_000;
/** The poll interval (ms): the default, and the limits of what the server requests. */
const POLL_MS = { usual: 1_000, least: 100, most: 30_000 };

/**
 * Whether the server would refuse `call`, because its tool requires a task, and the client does not support tasks. A
 * client with a session is of this era itself, and gets the refusal of the server, unless it called a tool whose entry no
 * list has shown it.
 */
export function needsTask({ method, params, client, route, via }: Call, capabilities: JsonObject): boolean {
  if (method !== "tools/call" || Object.hasOwn(params, "task")) return false;
  if (client.session && via !== "search") return false;
  return (
    stringAt(objectAt(route?.item, "execution"), "taskSupport") === "required" &&
    supportsTaskCalls(capabilities)
  );
}

/**
 * Creates the task and resolves to the result of the tool. Questions and notifications meanwhile belong to `running`.
 * Each poll counts as activity of the call.
 *
 * @throws what `exchange` rejects with, also when `signal` aborts.
 */
export async function awaitTask(
  request: Request,
  running: RunningCall,
  { exchange, ids }: { readonly exchange: Exchange; readonly ids: { next(): number } },
  signal: StopSignal,
): Promise<ChannelResponse> {
  const begun = await exchange(
    { ...request, params: { ...request.params, task: { ttl: TTL_MS } } },
    running,
    signal,
  );
  let task = objectAt(begun.message.result, "task");
  const taskId = stringAt(task, "taskId");
  // The server refused the task, or answered at once, against its own `taskSupport`.
  if (taskId === undefined) return begun;
  running.setAwaitedTask(taskId);
  const sendRequest = (method: string): Promise<ChannelResponse> =>
    exchange({ jsonrpc: "2.0", id: ids.next(), method, params: { taskId } }, running, signal);
  const done = new Stop();
  const giveUp = (): void => done.abort();
  signal.addEventListener("abort", giveUp, { once: true });
  const poll = async (isDone: () => boolean): Promise<void> => {
    while (!done.aborted && !isDone()) {
      await sleep(pollMs(task), done);
      if (done.aborted) return;
      const { message } = await sendRequest("tasks/get");
      running.call?.onActivity?.();
      task = message.result;
    }
  };
  try {
    await poll(() => task?.status !== "working");
    // The task has ended, or it has questions, which come while `tasks/result` is pending; so polling continues.
    const result = sendRequest("tasks/result");
    poll(() => false).catch(ignore);
    return withoutTask(await result);
  } finally {
    done.abort();
    signal.removeEventListener("abort", giveUp);
  }
}

// A failed poll fails `tasks/result` too, which the call awaits.
const ignore = (): void => {};

function pollMs(task: JsonObject | undefined): number {
  const requested = numberOf(task?.pollInterval);
  if (requested === undefined) return POLL_MS.usual;
  return Math.min(Math.max(requested, POLL_MS.least), POLL_MS.most);
}

/** Resolves after `ms`, or when `signal` aborts. */
function sleep(ms: number, signal: StopSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    timer.unref();
    signal.addEventListener("abort", done, { once: true });
    if (signal.aborted) done();
  });
}

/** The answer without its related task, which the client does not know. */
function withoutTask(answer: ChannelResponse): ChannelResponse {
  const { result } = answer.message;
  const meta = objectAt(result, "_meta");
  if (result === undefined || meta === undefined || !Object.hasOwn(meta, META.relatedTask)) return answer;
  const kept = without(meta, [META.relatedTask]);
  const rest = without(result, ["_meta"]);
  const plain = Object.keys(kept).length > 0 ? { ...rest, _meta: kept } : rest;
  return { ...answer, message: { ...answer.message, result: plain } };
}

/** The recipient of the progress of a task. */
interface ProgressTarget {
  readonly affinity: string;
  /** The client's own progress token. */
  readonly token: MessageId;
}

/** The maximum number of tasks; the oldest is forgotten first, as no message marks the end of a task. */
const MAX_REMEMBERED = 1_000;

/** The tasks of one connection whose clients sent a progress token. */
export class TaskProgress {
  readonly #directory: ClientDirectory;
  /** By the gateway's token, which is the request id of the call. */
  readonly #targets = new Map<number, ProgressTarget>();

  constructor(directory: ClientDirectory) {
    this.#directory = directory;
  }

  /** Records `target` where `answer`, the response to the request `id`, created a task. */
  taskStarted(id: number, target: ProgressTarget, answer: Envelope): void {
    if (objectAt(answer.result, "task") === undefined) return;
    this.#targets.set(id, target);
    const [oldest] = this.#targets.keys();
    if (this.#targets.size > MAX_REMEMBERED && oldest !== undefined) this.#targets.delete(oldest);
  }

  /** Forwards a progress notification to its client (2025-11-25: basic/utilities/tasks, "Task Progress Notifications"). */
  forward(params: JsonObject | undefined): void {
    const token = integerInText(params?.progressToken) ?? idKey(params?.progressToken);
    const target = typeof token === "number" ? this.#targets.get(token) : undefined;
    if (target === undefined) return;
    this.#directory.find(target.affinity)?.notify?.({
      method: "notifications/progress",
      params: { ...params, progressToken: target.token },
    });
  }
}

/** Undefined where `call` creates no task, or has no progress token. */
export function progressTargetOf({ params, client }: Call): ProgressTarget | undefined {
  const token = Object.hasOwn(params, "task") ? progressTokenOf(params) : undefined;
  return token === undefined ? undefined : { affinity: client.affinity, token };
}
