/**
 * What of this gateway is public before a host connects (SEP-2127, a draft)? That it is an MCP server, and its address: a card at
 * `PATH/server-card`, and the catalog that names it. Servers, profiles, tools and principals are in neither.
 */
import { hash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { ListenConfig } from "../config/config.js";
import type { JsonObject } from "../wire/json.js";
import { writeJson } from "../wire/json-text.js";
import { LEGACY_REVISIONS, MODERN_REVISION } from "../wire/names.js";

/** What the card says of this gateway. */
export interface ServerCardSettings {
  readonly listen: Pick<ListenConfig["http"], "path" | "publicUrl" | "serverCard">;
  readonly version: string;
  /** Whether hosts need a key that a person gives them; those that need a token find the way by the answer to their first request. */
  readonly needsKey: () => boolean;
}

/** Of a card, and of the catalog: the path that the issue of the catalog named first, and the one of the draft. */
const CARD_SUFFIX = "/server-card";
const CATALOG_PATHS = ["/.well-known/mcp/catalog.json", "/.well-known/ai-catalog.json"] as const;
const CARD_TYPE = "application/mcp-server-card+json";
const CATALOG_TYPE = "application/ai-catalog+json";
const SCHEMA = "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json";
/** Pages of any origin may read it: what it holds is public. */
const PUBLIC_HEADERS = {
  "access-control-allow-origin": "*",
  "access-control-allow-methods": "GET",
  "access-control-allow-headers": "Content-Type, If-None-Match",
  "access-control-expose-headers": "ETag",
  "cache-control": "public, max-age=3600",
  vary: "Host",
};

/** The card and the catalog by their paths; nothing where the config has no `serverCard`. */
export function serverCardPages(settings: ServerCardSettings): ReadonlyMap<string, PublicPage> {
  const { listen } = settings;
  if (listen.serverCard === undefined) return new Map();
  const catalog: PublicPage = (host) => ({ type: CATALOG_TYPE, document: catalogOf(settings, host) });
  const card: PublicPage = (host) => ({ type: CARD_TYPE, document: cardOf(settings, host) });
  return new Map([
    [`${listen.path.replace(/\/$/, "")}${CARD_SUFFIX}`, card],
    ...CATALOG_PATHS.map((path): [string, PublicPage] => [path, catalog]),
  ]);
}

/** Makes a page for the `Host` of a request, which was checked. */
export type PublicPage = (host: string) => { readonly type: string; readonly document: JsonObject };

/** Answers GET, HEAD and OPTIONS. */
export function writePublicPage(page: PublicPage, request: IncomingMessage, response: ServerResponse): void {
  if (request.method === "OPTIONS") {
    response.writeHead(204, PUBLIC_HEADERS).end();
    return;
  }
  const { type, document } = page(request.headers.host ?? "localhost");
  const text = writeJson(document);
  const etag = `"${hash("sha256", text, "base64url").slice(0, 27)}"`;
  const isKnown = request.headers["if-none-match"]
    ?.split(",")
    .some((each) => each.trim().replace(/^W\//, "") === etag);
  const headers = { ...PUBLIC_HEADERS, etag, "content-type": type };
  response.writeHead(isKnown === true ? 304 : 200, headers).end(isKnown === true ? undefined : text);
}

function cardOf({ listen, version, needsKey }: ServerCardSettings, host: string): JsonObject {
  const {
    name,
    title = "Cardea",
    description = "A gateway in front of several MCP servers",
    ...more
  } = listen.serverCard ?? {};
  const base = baseUrl(listen, host);
  const authorization = {
    ...{ name: "Authorization", description: "A key of this gateway, as: Bearer KEY" },
    ...{ isRequired: true, isSecret: true },
  };
  return {
    $schema: SCHEMA,
    name: name ?? `${reversed(new URL(base).hostname)}/cardea`,
    version,
    ...{ title, description, ...more },
    remotes: [
      {
        type: "streamable-http",
        url: `${base}${listen.path}`,
        ...(needsKey() && { headers: [authorization] }),
        supportedProtocolVersions: [MODERN_REVISION, ...LEGACY_REVISIONS].reverse(),
      },
    ],
  };
}

function catalogOf({ listen }: ServerCardSettings, host: string): JsonObject {
  const base = baseUrl(listen, host);
  const publisher = new URL(base).hostname.replace(/^\[.*\]$/, "localhost");
  const name = (listen.serverCard?.name ?? "x/cardea").split("/")[1] ?? "cardea";
  const url = `${base}${listen.path.replace(/\/$/, "")}${CARD_SUFFIX}`;
  const entry = { identifier: `urn:air:${publisher}:mcp:${name}`, type: CARD_TYPE, url };
  return { specVersion: "1.0", entries: [entry] };
}

const baseUrl = ({ publicUrl }: ServerCardSettings["listen"], host: string): string =>
  publicUrl ?? `http://${host}`;

/** `mcp.example.com` as `com.example.mcp`; an address is returned unchanged. */
function reversed(hostname: string): string {
  if (hostname.startsWith("[")) return "localhost";
  return /^[\d.]+$/.test(hostname) ? hostname : hostname.split(".").reverse().join(".");
}
