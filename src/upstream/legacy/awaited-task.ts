/** Runs a tool that can only be run as a task for a client that cannot ask for one, and waits for what comes of it. */
import type { Call } from "../../core/call.js";
import { Stop, type StopSignal } from "../../core/stop.js";
import { takesTasks } from "../../core/tasks.js";
import type { Request } from "../../wire/envelope.js";
import { numberOf } from "../../wire/exact-number.js";
import { type JsonObject, objectAt, stringAt, without } from "../../wire/json.js";
import { META } from "../../wire/names.js";
import { nextId } from "../conversation/ids.js";
import type { Answer } from "../transport/channel.js";
import type { RunningCall } from "./running-call.js";

/** Sends a request in the course of `running`, and waits for its response. */
export type Exchange = (request: Request, running: RunningCall, signal: StopSignal) => Promise<Answer>;

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
    stringAt(objectAt(route?.item, "execution"), "taskSupport") === "required" && takesTasks(capabilities)
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
): Promise<Answer> {
  const begun = await exchange(
    { ...request, params: { ...request.params, task: { ttl: TTL_MS } } },
    running,
    signal,
  );
  let task = objectAt(begun.message.result, "task");
  const taskId = stringAt(task, "taskId");
  // Refused, or answered at once by a server that says one thing and does another.
  if (taskId === undefined) return begun;
  running.awaits(taskId);
  const ask = (method: string): Promise<Answer> =>
    exchange({ jsonrpc: "2.0", id: nextId(), method, params: { taskId } }, running, signal);
  const over = new Stop();
  const giveUp = (): void => over.abort();
  signal.addEventListener("abort", giveUp, { once: true });
  const look = async (enough: () => boolean): Promise<void> => {
    while (!over.aborted && !enough()) {
      await pause(pollMs(task), over);
      if (over.aborted) return;
      const { message } = await ask("tasks/get");
      running.call?.alive?.();
      task = message.result;
    }
  };
  try {
    await look(() => task?.status !== "working");
    // It is over, or it has questions, which come while its result is waited for. That may take as long again.
    const result = ask("tasks/result");
    look(() => false).catch(ignore);
    return withoutTask(await result);
  } finally {
    over.abort();
    signal.removeEventListener("abort", giveUp);
  }
}

// Why the server cannot be asked any more, the one who waits for the result is told.
const ignore = (): void => {};

function pollMs(task: JsonObject | undefined): number {
  const wished = numberOf(task?.pollInterval);
  if (wished === undefined) return POLL_MS.usual;
  return Math.min(Math.max(wished, POLL_MS.least), POLL_MS.most);
}

/** Resolves after `ms`, or at once when `signal` is aborted. */
function pause(ms: number, signal: StopSignal): Promise<void> {
  return new Promise((resolve) => {
    const over = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", over);
      resolve();
    };
    const timer = setTimeout(over, ms);
    timer.unref();
    signal.addEventListener("abort", over, { once: true });
    if (signal.aborted) over();
  });
}

/** Nobody knows the task that the result says it belongs to. */
function withoutTask(answer: Answer): Answer {
  const { result } = answer.message;
  const meta = objectAt(result, "_meta");
  if (result === undefined || meta === undefined || !Object.hasOwn(meta, META.relatedTask)) return answer;
  const kept = without(meta, [META.relatedTask]);
  const rest = without(result, ["_meta"]);
  const plain = Object.keys(kept).length > 0 ? { ...rest, _meta: kept } : rest;
  return { ...answer, message: { ...answer.message, result: plain } };
}
