/** What a server's own words must look like behind the gateway: other names and URIs, and nothing else. */
import type { Json, List, Outcome } from "../support/peers/host.js";
import type { Use } from "./servers.js";

/** How one server is exposed: with its key as a prefix, or with its own names. */
export interface Exposure {
  name(own: string): string;
  uri(own: string): string;
}

export const prefixed = (server: string): Exposure => ({
  name: (own) => `${server}__${own}`,
  uri: (own) => (/^https?:/.test(own) ? own : `${server}+${own}`),
});

/** A list entry of the server as the gateway must show it. */
export function exposeItem(list: List, item: Json, exposure: Exposure): Json {
  const shown = exposeUris(item, exposure) as Json;
  return list === "tools" || list === "prompts"
    ? { ...shown, name: exposure.name(String(item.name)) }
    : shown;
}

/** A request as a host must make it to reach the same thing. */
export function exposeUse({ method, params }: Use, exposure: Exposure): Use {
  if (method === "resources/read")
    return { method, params: { ...params, uri: exposure.uri(String(params.uri)) } };
  if (method !== "completion/complete") {
    return { method, params: { ...params, name: exposure.name(String(params.name)) } };
  }
  const ref = params.ref as Json;
  const exposed =
    ref.type === "ref/prompt"
      ? { ...ref, name: exposure.name(String(ref.name)) }
      : { ...ref, uri: exposure.uri(String(ref.uri)) };
  return { method, params: { ...params, ref: exposed } };
}

export function exposeOutcome(use: Use, outcome: Outcome, exposure: Exposure): Outcome {
  if (outcome.result !== undefined) return { result: exposeUris(outcome.result, exposure) as Json };
  // A host's own library may refuse a call by itself; it then speaks of the tool by the name that it was given.
  const own = String(use.params.name);
  const message = outcome.error.message.replaceAll(`"${own}"`, `"${exposure.name(own)}"`);
  return { error: { ...outcome.error, message } };
}

/** Places whose contents are the server's own affair, URIs in them included. */
const OPAQUE = new Set(["structuredContent", "inputSchema", "outputSchema", "text", "blob"]);

function exposeUris(value: unknown, exposure: Exposure): unknown {
  if (Array.isArray(value)) return value.map((item) => exposeUris(item, exposure));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      if (OPAQUE.has(key)) return [key, inner];
      if ((key === "uri" || key === "uriTemplate") && typeof inner === "string") {
        return [key, exposure.uri(inner)];
      }
      return [key, exposeUris(inner, exposure)];
    }),
  );
}

/** The gateway says who it is; who answered behind it stands beside that. */
const SERVER_INFOS = ["io.modelcontextprotocol/serverInfo", "cardea/upstreamServerInfo"];

/** Without what the modern era adds to every result (2026-07-28, basic/index, "Results"; server/utilities/caching). */
export function withoutModernFrame(outcome: Outcome): Outcome {
  if (outcome.result === undefined) return outcome;
  const { resultType: _type, ttlMs: _ttl, cacheScope: _scope, _meta, ...rest } = outcome.result;
  const meta = Object.entries((_meta ?? {}) as Json).filter(([key]) => !SERVER_INFOS.includes(key));
  return { result: meta.length > 0 ? { ...rest, _meta: Object.fromEntries(meta) } : rest };
}

/** The modern era has no tasks in tools: what a legacy server says of them is not shown there. */
export function withoutTasks(item: Json): Json {
  const { execution: _execution, ...rest } = item;
  return rest;
}

/**
 * Header annotations of a server on a pipe have no effect there, and would oblige hosts of the gateway to send useless
 * headers (2026-07-28, streamable HTTP, "Custom Headers").
 */
export const withoutHeaderMarks = (item: Json): Json =>
  JSON.parse(
    JSON.stringify(item, (key, value: unknown) => (key === "x-mcp-header" ? undefined : value)),
  ) as Json;

/** The same outcome with what differs from run to run made equal: clocks, and the environment of the process. */
export function steady(use: Use, outcome: Outcome): Outcome {
  const text = JSON.stringify(outcome)
    .replace(/\d{1,2}:\d\d:\d\d [AP]M/g, "TIME")
    .replace(/(created|modified|accessed): [A-Z][a-z]{2} [^\\"]*/g, "$1: TIME")
    .replace(/"blob":"([^"]*)"/g, (whole, blob: string) => {
      const inside = Buffer.from(blob, "base64").toString("latin1");
      return /created at \d/.test(inside) ? '"blob":"TIME"' : whole;
    });
  const same = JSON.parse(text) as Outcome;
  return use.params.name === "get-env" ? { result: environmentIn(same) } : same;
}

/** Of the environment that server-everything tells, what it must have wherever it runs. */
function environmentIn({ result }: Outcome): Json {
  const [block] = (result?.content ?? []) as readonly { text: string }[];
  const { PATH, HOME } = JSON.parse(block?.text ?? "{}") as Json;
  return { PATH, HOME };
}
