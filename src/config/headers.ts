/** Which headers a config can give a server, and what can stand in them. */

/** A header name (RFC 9110, 5.6.2: token). */
export const HEADER_NAME = /^[!#$%&'*+.^_`|~\w-]+$/;

/** Those that HTTP sets itself or that change how the message is framed, and those of the conversation. */
const RESERVED_HEADERS: ReadonlySet<string> = new Set([
  ...["connection", "content-length", "expect", "keep-alive", "proxy-connection"],
  ...["te", "trailer", "transfer-encoding", "upgrade"],
  ...["mcp-session-id", "mcp-protocol-version", "mcp-method", "mcp-name", "last-event-id"],
]);

export const isReservedHeader = (name: string): boolean => RESERVED_HEADERS.has(name.toLowerCase());

/** Whether a request can carry it. */
export const isHeaderValue = (value: string): boolean => /^[\t\x20-\x7e\x80-\xff]*$/.test(value);
