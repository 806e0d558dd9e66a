/** What are the `_meta` keys, HTTP headers, revisions and error codes of MCP called? */

/** The revision without sessions. */
export const MODERN_REVISION = "2026-07-28";
/** Revisions with an `initialize` handshake, newest first. */
export const LEGACY_REVISIONS = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] as const;
/** One of `LEGACY_REVISIONS`. */
export type LegacyRevision = (typeof LEGACY_REVISIONS)[number];

/** Keys of `_meta` that the 2026-07-28 revision reserves (spec: basic/index, "_meta"). */
export const META = {
  protocolVersion: "io.modelcontextprotocol/protocolVersion",
  clientCapabilities: "io.modelcontextprotocol/clientCapabilities",
  clientInfo: "io.modelcontextprotocol/clientInfo",
  logLevel: "io.modelcontextprotocol/logLevel",
  serverInfo: "io.modelcontextprotocol/serverInfo",
  subscriptionId: "io.modelcontextprotocol/subscriptionId",
  relatedTask: "io.modelcontextprotocol/related-task",
  progressToken: "progressToken",
} as const;

/** `_meta` keys of Cardea itself, for loop detection between gateways. */
export const OWN_META = {
  /** The instance id of a gateway, in its description of itself. */
  instance: "cardea/instance",
  /** The instance ids of the gateways passed; in list entries and calls between gateways. */
  hops: "cardea/hops",
  /** In the first result of a server in a session that was taken over: true. */
  adopted: "cardea/adopted",
} as const;

/** Header names in lower case, as in `IncomingMessage.headers`. */
export const HEADER = {
  protocolVersion: "mcp-protocol-version",
  sessionId: "mcp-session-id",
  method: "mcp-method",
  name: "mcp-name",
  paramPrefix: "mcp-param-",
  lastEventId: "last-event-id",
  /** Between replicas of one gateway only: who forwards a request, with a proof. */
  peer: "cardea-peer",
} as const;

/** JSON-RPC and MCP error codes (spec: basic/index, "Error Codes"). */
export const CODE = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
  headerMismatch: -32020,
  missingClientCapability: -32021,
  unsupportedProtocolVersion: -32022,
  /** Until 2025-11-25; invalid parameters since. */
  resourceNotFound: -32002,
  /** 2025-11-25 only; `input_required` since. */
  urlElicitationRequired: -32042,
} as const;
