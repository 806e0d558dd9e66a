/** What does the line say that announces a gateway which serves? Where it listens, and which servers it still lacks. */

/** The end of a ready line: the servers in their first start, if there are any. */
export const stillStarting = (servers: readonly string[]): string =>
  servers.length === 0 ? "" : `; still starting: ${servers.join(", ")}`;
