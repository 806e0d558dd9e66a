/** Where servers stand in a file. */

/** The keys under which servers are found, as different hosts write them; all of them are read. */
export const SERVER_KEYS = ["mcpServers", "servers", "context_servers"] as const;

/** Whether a key holds the servers: `mcpServers`, `servers` or `context_servers`. */
export const isServerKey = (key: PropertyKey): boolean => SERVER_KEYS.some((known) => known === key);
