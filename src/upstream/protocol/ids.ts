/** Which JSON-RPC id does the next request to a server get? */
let last = 0;

/**
 * A number that this process has not used before, on any connection: servers may keep state by id across
 * connections, and a retry must have an id of its own.
 */
export function nextId(): number {
  last += 1;
  return last;
}
