/** Which headers of a host's request travel to the process that serves it, and which of the response come back? */
import { HEADER } from "../wire/names.js";

/** Headers of a response that are true of one connection and not of the next (RFC 9110, 7.6.1), or only between processes. */
const HOP_BY_HOP_HEADERS: ReadonlySet<string> = new Set(["connection", "keep-alive", HEADER.peer]);
const FRAMING_NAMES = ["transfer-encoding", "content-length"] as const;
const FRAMING_HEADERS: ReadonlySet<string> = new Set([...HOP_BY_HOP_HEADERS, ...FRAMING_NAMES]);
/** What of a host's request the owner reads; nothing else travels, so no credential, cookie or address does. */
const FORWARDED_HEADERS: ReadonlySet<string> = new Set([
  ...["accept", "content-type", "content-encoding", "traceparent", "tracestate"],
  ...[HEADER.sessionId, HEADER.protocolVersion, HEADER.method, HEADER.name, HEADER.lastEventId],
]);

/** Names and values by turns, as Node has them. `isFramed`: the body follows as the host has framed it. */
export const forwardedHeaders = (
  raw: readonly string[],
  isFramed: boolean,
  others: readonly string[],
): string[] =>
  raw.filter((_, at) => {
    const name = (raw[at - (at % 2)] ?? "").toLowerCase();
    return isForwarded(name, isFramed) || others.includes(name);
  });

const isForwarded = (name: string, isFramed: boolean): boolean =>
  FORWARDED_HEADERS.has(name) ||
  name.startsWith(HEADER.paramPrefix) ||
  (isFramed && FRAMING_NAMES.some((framing) => framing === name));

/** Those of a response for the host. `isFramed`: it has a length. */
export function returnedHeaders(raw: readonly string[], isFramed: boolean): string[] {
  const dropped = isFramed ? HOP_BY_HOP_HEADERS : FRAMING_HEADERS;
  return raw.filter((_, at) => !dropped.has((raw[at - (at % 2)] ?? "").toLowerCase()));
}
