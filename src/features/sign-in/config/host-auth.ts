/** The OAuth section of one server in a host's file, as Cardea's `auth`. */

import type { Member, Tree } from "../../../config/tree.js";
import { serverAuthSchema } from "./auth-schema.js";

/** Cardea's key for what hosts call differently: Cursor, Zed and Codex, opencode, Copilot CLI. */
const KEY_ALIASES: Readonly<Record<string, string>> = {
  CLIENT_ID: "clientId",
  CLIENT_SECRET: "clientSecret",
  client_id: "clientId",
  client_secret: "clientSecret",
  oauthClientId: "clientId",
  scope: "scopes",
  authServerMetadataUrl: "issuer",
};

/** What Cardea does by itself, or elsewhere. */
const UNUSED_KEYS: Readonly<Record<string, string>> = {
  callbackPort:
    "is not used here: the callback is on the gateway's own port (register PUBLIC-URL/oauth/callback)",
  redirectUri:
    "is not used here: the callback is PUBLIC-URL/oauth/callback of the gateway, which the client must have",
  authorizationUrl: "is not used here: the server's metadata name it",
  tokenUrl: "is not used here: the server's metadata name it",
  registrationUrl: "is not used here: the server's metadata name it",
};

/** Ends of the URLs of metadata (RFC 8414, 3.1; OpenID Connect Discovery, 4). */
const METADATA_URL =
  /^(https?:\/\/[^/?#]+)\/\.well-known\/(?:oauth-authorization-server|openid-configuration)(\/[^?#]*)?$/;
const OPENID_URL = /^(https?:\/\/[^?#]+)\/\.well-known\/openid-configuration$/;

/**
 * Replaces `oauth`, `auth`, `oauthClientId` and Codex's `scopes` in `server` by Cardea's `auth`; `warn` receives what could
 * not be carried over, by its key.
 */
export function moveSignIn(
  server: Map<string, Member>,
  warn: (key: string, at: Member, what: string) => void,
): void {
  const sections = ["auth", "oauth"].flatMap((key) => {
    const member = server.get(key);
    server.delete(key);
    return member === undefined ? [] : [{ key, member }];
  });
  const loose = ["oauthClientId", "scopes"].flatMap((key) => {
    const member = server.get(key);
    server.delete(key);
    return member === undefined ? [] : [[key, member] as const];
  });
  const [first] = [...sections.map(({ member }) => member), ...loose.map(([, member]) => member)];
  if (first === undefined) return;
  const found = new Map<string, Member>();
  readMembers(new Map(loose), "", found, warn);
  for (const { key, member } of sections) readSection(key, member, found, warn);
  if (found.has("clientSecret") && !found.has("clientId")) {
    warn("clientSecret", first, "is omitted: there is no client id that it belongs to");
    found.delete("clientSecret");
  }
  if (found.size === 0) return;
  const type = found.get("type");
  const isOff = type !== undefined && scalar(type.value) === "none";
  if (!isOff && hasOwnHeader(server)) {
    warn("auth", first, "is omitted: the server has its own Authorization header");
    return;
  }
  server.set("auth", {
    keyOffset: first.keyOffset,
    value: { kind: "object", offset: first.value.offset, members: isOff ? new Map([["type", type]]) : found },
  });
}

type Warn = Parameters<typeof moveSignIn>[1];

function readSection(key: string, member: Member, found: Map<string, Member>, warn: Warn): void {
  const { value } = member;
  if (value.kind === "object") {
    readMembers(value.members, `${key}.`, found, warn);
    return;
  }
  // opencode: false if a header does it. Others: "oauth", which is the default here.
  if (scalar(value) === false)
    found.set("type", { ...member, value: { ...value, kind: "scalar", value: "none" } });
  else if (scalar(value) !== true && scalar(value) !== "oauth" && scalar(value) !== "auto")
    warn(key, member, "is the host's own and is ignored");
}

function readMembers(
  members: ReadonlyMap<string, Member>,
  where: string,
  found: Map<string, Member>,
  warn: Warn,
): void {
  for (const [key, member] of members) {
    const ours = KEY_ALIASES[key] ?? key;
    const value = inOurForm(key, member.value);
    if (key === "enabled") {
      // Gemini CLI
      if (scalar(member.value) === false)
        found.set("type", { ...member, value: { ...none, offset: member.value.offset } });
    } else if (value === undefined || !isOurs(ours, value)) {
      const what = Object.hasOwn(UNUSED_KEYS, key) ? UNUSED_KEYS[key] : undefined;
      warn(`${where}${key}`, member, what ?? "is the host's own and is ignored");
    } else found.set(ours, { ...member, value });
  }
}

const none = { kind: "scalar", value: "none" } as const;

/** Whether `auth` of Cardea has the key; its own `type` is among those of hosts' (`bearer`, `oauth2`), which it does not know. */
function isOurs(key: string, value: Tree): boolean {
  if (!Object.hasOwn(serverAuthSchema.shape, key)) return false;
  return key !== "type" || serverAuthSchema.shape.type.safeParse(scalar(value)).success;
}

/** The value in Cardea's form; undefined if it has none. */
function inOurForm(key: string, value: Tree): Tree | undefined {
  const text = scalar(value);
  if (typeof text !== "string") return value;
  if (key === "scope" || key === "scopes") {
    const words = text.split(/[\s,]+/).filter((word) => word !== "");
    const items = words.map((word): Tree => ({ kind: "scalar", offset: value.offset, value: word }));
    return { kind: "array", offset: value.offset, items };
  }
  if (key !== "authServerMetadataUrl") return value;
  const [, origin, path] = METADATA_URL.exec(text) ?? OPENID_URL.exec(text) ?? [];
  return origin === undefined
    ? undefined
    : { kind: "scalar", offset: value.offset, value: `${origin}${path ?? ""}` };
}

function hasOwnHeader(server: ReadonlyMap<string, Member>): boolean {
  const headers = server.get("headers")?.value;
  const names = headers?.kind === "object" ? [...headers.members.keys()] : [];
  return names.some((name) => name.toLowerCase() === "authorization");
}

const scalar = (value: Tree | undefined) => (value?.kind === "scalar" ? value.value : undefined);
