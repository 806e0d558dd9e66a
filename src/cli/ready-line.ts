/** The ready line: where the gateway listens, and which servers are still starting. */

/** The end of a ready line: the starting servers, if any. */
export const stillStarting = (servers: readonly string[]): string =>
  servers.length === 0 ? "" : `; still starting: ${servers.join(", ")}`;
