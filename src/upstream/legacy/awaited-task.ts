/** Runs a tool that can only be run as a task for a client that cannot ask for one, and waits for what comes of it. */
import type { Call } from "../../core/call.js";
import { Stop, type StopSignal } from "../../core/stop.js";
import { supportsTaskCalls } from "../../core/tasks.js";
import type { Request } from "../../wire/envelope.js";
import { numberOf } from "../../wire/exact-number.js";
import { type JsonObject, objectAt, stringAt, without } from "../../wire/json.js";
import { META } from "../../wire/names.js";
import { nextId } from "../protocol/ids.js";
import type { ChannelResponse } from "../transport/channel.js";
import type { RunningCall } from "./running-call.js";

/** Sends a request in the course of `running`, and waits for its response. */
export type Exchange = (
  request: Request,
  running: RunningCall,
  signal: StopSignal,
) => Promise<ChannelResponse>;

/** How long (ms) a task may take; no call takes longer than that. */
const TTL_MS = 3_600_000;
/** Between two looks (ms): what is taken where the server does not say, and what is kept to whatever it says. */
const POLL_MS = { usual: 1_000, least: 100, most: 30_000 };

/**
 * Whether the server would refuse `call`, because its tool takes no calls but as tasks, and its client knows no such
 * tasks. One with a session is of this era itself, and is told what the server says.
 */
export function needsTask({ method, params, client, route }: Call, capabilities: JsonObject): boolean {
  if (method !== "tools/call" || client.session || Object.hasOwn(params, "task")) return false;
  return (
    stringAt(objectAt(route?.item, "execution"), "taskSupport") === "required" &&
    supportsTaskCalls(capabilities)
  );
}

/**
 * Resolves to what the tool itself would have answered. What the server asks or says meanwhile belongs to `running`.
 * Each look at the task counts as a sign of life.
 *
 * @throws what `exchange` fails with, also when `signal` is aborted.
 */
export async function awaitTask(
  request: Request,
  running: RunningCall,
  exchange: Exchange,
  signal: StopSignal,
): Promise<ChannelResponse> {
  const begun = await exchange(
    { ...request, params: { ...request.params, task: { ttl: TTL_MS } } },
    running,
    signal,
  );
  let task = objectAt(begun.message.result, "task");
  const taskId = stringAt(task, "taskId");
  // Refused, or answered at once by a server that says one thing and does another.
  if (taskId === undefined) return begun;
  running.setAwaitedTask(taskId);
  const sendRequest = (method: string): Promise<ChannelResponse> =>
    exchange({ jsonrpc: "2.0", id: nextId(), method, params: { taskId } }, running, signal);
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
    // It is over, or it has questions, which come while its result is waited for. That may take as long again.
    const result = sendRequest("tasks/result");
    poll(() => false).catch(ignore);
    return withoutTask(await result);
  } finally {
    done.abort();
    signal.removeEventListener("abort", giveUp);
  }
}

// Why the server cannot be asked any more, the one who waits for the result is told.
const ignore = (): void => {};

function pollMs(task: JsonObject | undefined): number {
  const requested = numberOf(task?.pollInterval);
  if (requested === undefined) return POLL_MS.usual;
  return Math.min(Math.max(requested, POLL_MS.least), POLL_MS.most);
}

/** Resolves after `ms`, or at once when `signal` is aborted. */
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

/** Nobody knows the task that the result says it belongs to. */
function withoutTask(answer: ChannelResponse): ChannelResponse {
  const { result } = answer.message;
  const meta = objectAt(result, "_meta");
  if (result === undefined || meta === undefined || !Object.hasOwn(meta, META.relatedTask)) return answer;
  const kept = without(meta, [META.relatedTask]);
  const rest = without(result, ["_meta"]);
  const plain = Object.keys(kept).length > 0 ? { ...rest, _meta: kept } : rest;
  return { ...answer, message: { ...answer.message, result: plain } };
}
