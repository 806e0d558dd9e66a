/** Which headers of hosts may be carried to a server? */
import { ServerConfigError } from "./server-config-error.js";
import type { ServerShape } from "./server-schema.js";

/** A header that is carried to a server: its name in the host's request, and in that to the server; in lower case. */
export interface ForwardedHeader {
  readonly from: string;
  readonly to: string;
}

/** Names that no host may decide, and why. */
const REFUSED: ReadonlyMap<string, string> = new Map([
  ...[
    ...["connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection"],
    ...["te", "trailer", "transfer-encoding", "upgrade", "expect"],
  ].map((name) => [name, "belongs to one connection"] as const),
  ["host", "says where a request goes"],
  ...[
    ...["accept", "accept-encoding", "accept-charset", "user-agent", "last-event-id", "origin"],
    ...["traceparent", "tracestate", "baggage"],
  ].map((name) => [name, "is set by the gateway itself"] as const),
]);

function whyRefused(name: string): string | undefined {
  if (name.startsWith("mcp-")) return "is a header of MCP, which the gateway sets itself";
  if (name.startsWith("content-")) return "describes the body, which the gateway writes itself";
  return REFUSED.get(name);
}

/** A host's own credentials at the gateway, which are for nothing else (2025-11-25, security best practices, "Token Passthrough"). */
const CREDENTIALS: ReadonlySet<string> = new Set(["authorization", "cookie"]);

const INSTEAD =
  'let hosts send the credentials for that server in a header of their own, such as { "from": "x-server-token", "to": "authorization" }';

/** Undefined without any. @throws ServerConfigError at the entry that cannot be used */
export function completeForwardHeaders(
  server: Pick<ServerShape, "forwardHeaders"> & { readonly auth?: unknown },
  hasPrincipals: boolean,
): readonly ForwardedHeader[] | undefined {
  const { forwardHeaders, auth } = server;
  if (forwardHeaders === undefined || forwardHeaders.length === 0) return undefined;
  const targets = new Set<string>();
  return forwardHeaders.map((entry, index) => {
    const named =
      typeof entry === "string"
        ? { from: entry, to: entry }
        : { from: entry.from, to: entry.to ?? entry.from };
    const [from, to] = [named.from.toLowerCase(), named.to.toLowerCase()];
    const refuse = (why: string): never => {
      throw new ServerConfigError(`has "forwardHeaders" in which ${why}`, "forwardHeaders", String(index));
    };
    for (const name of [from, to]) {
      const why = whyRefused(name);
      if (why !== undefined) refuse(`"${name}" ${why}`);
    }
    if (CREDENTIALS.has(from))
      refuse(`"${from}" has credentials for the gateway, which no server may get; ${INSTEAD}`);
    if (from === "x-api-key" && hasPrincipals)
      refuse(`"x-api-key" may have the key for the gateway ("auth"), which no server may get; ${INSTEAD}`);
    if (to === "cookie") refuse('"cookie" cannot be written');
    if (to === "authorization" && auth !== undefined)
      refuse('"authorization" is what the "auth" of the server sets');
    if (targets.has(to)) refuse(`two entries have the name "${to}" at the server`);
    targets.add(to);
    return { from, to };
  });
}
