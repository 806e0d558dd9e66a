/** The one counter behind every JSON-RPC id that the gateway sends to a server. */

let last = 0;

/**
 * A number that this process has not used before. It never starts again, not even for a new connection: a
 * server that keeps state by id, and the retry of a call (which must have an id of its own), both rely on it.
 */
export function nextId(): number {
  last += 1;
  return last;
}
