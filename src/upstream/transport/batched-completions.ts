/** Responses that came to their end in one turn of the event loop, handed on together when all of them are read. */

export interface Completion {
  /** Must not throw. */
  end(): void;
}

/**
 * The most that are handed on together; further ones are at once. What each sets going is done step by step for all of
 * them, and all that they need meanwhile is alive at the same time: with 500 sessions that took 17 MiB more. And where
 * there are so many, nobody is asleep who reads the answers.
 */
const MAX_BATCH = 16;

/** Not yet handed on, in the order in which they came. */
let waiting: Completion[] = [];

/**
 * Calls `end` at the end of this turn. What comes of it (answers to hosts, mostly) is then written in one go, and not
 * each between two reads: whoever reads those answers is woken once for all of them, and waking is the dearest part of
 * a write to another process (3 µs a call). undici asks for the same turn, so it costs none.
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
