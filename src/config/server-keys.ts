/** Where servers stand in a file, and where their URLs do. */

/** The keys under which servers are found, as different hosts write them; all of them are read. */
export const SERVER_KEYS = ["mcpServers", "servers", "context_servers"] as const;

/** Whether a key holds the servers: `mcpServers`, `servers` or `context_servers`. */
export const isServerKey = (key: PropertyKey): boolean => SERVER_KEYS.some((known) => known === key);

/** The keys of a server's URL, as different hosts write it. */
export const URL_KEYS = ["url", "serverUrl", "httpUrl"] as const;
export type UrlKey = (typeof URL_KEYS)[number];
