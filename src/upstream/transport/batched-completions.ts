/** How responses that are complete in one event loop iteration are handed on together, after all of them are read. */

/** A response whose end is to be handed on. */
export interface Completion {
  /** Must not throw. */
  end(): void;
}

/**
 * The most in one batch; further ones are handed on at once. Objects of a whole batch are alive at the same time: without
 * a limit, 500 sessions took 17 MiB more. Under that load the readers of the responses are awake anyway.
 */
const MAX_BATCH = 16;

/** Not yet handed on, in order of arrival. Module-wide on purpose: a batch belongs to one event loop iteration, which gateways share. */
let waiting: Completion[] = [];

/**
 * Calls `end` in the check phase of this event loop iteration. Responses to hosts are then written together and not between
 * two reads, so a host process is woken once: 3 to 4 µs a call. undici schedules the same `setImmediate` phase, so no
 * iteration is added.
 */
export function batchCompletion(ending: Completion): void {
  if (waiting.length >= MAX_BATCH) ending.end();
  else if (waiting.push(ending) === 1) setImmediate(flush);
}

function flush(): void {
  const ending = waiting;
  waiting = [];
  for (const each of ending) each.end();
}
