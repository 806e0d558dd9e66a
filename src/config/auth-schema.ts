/** The schema of `auth`: authentication of hosts over HTTP. */

import { z } from "zod";
import { isLoopback } from "../http/loopback.js";
import { hasHiddenCharacters, identifierFault } from "../wire/readable-text.js";
import { isReservedId } from "../wire/reserved-ids.js";
import type { Section } from "./section.js";
import { keysWithin } from "./section-keys.js";

/** Asymmetric signature algorithms. `none` and the HS family are excluded and cannot be configured. */
const TOKEN_ALGORITHMS = [
  ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  ...["ES256", "ES384", "ES512", "EdDSA", "Ed25519"],
] as const;

/** A SHA-256 in hexadecimal, as `cardea key` and `sha256sum` print it. */
const KEY_HASH = /^(?:sha256:)?[0-9a-f]{64}$/i;

const EXPIRY = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/;

/** A variable is allowed where an editor would otherwise report an invalid value. */
const orVariable = (pattern: RegExp): string => `${pattern.source}|\\$\\{`;

/** One scope (RFC 6749, 3.3). */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+$/;
export const scopes = z.array(
  z.string().regex(SCOPE, { error: "must be one scope, without spaces, quotes or backslashes" }),
);

/** The keys in it decide authentication, so it is fetched over https, or from this machine. */
export const address = z.string().refine(
  (text) => {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    if (url === undefined || url.hash !== "" || url.username !== "" || url.password !== "") return false;
    return url.protocol === "https:" || (url.protocol === "http:" && isLoopback(url.hostname));
  },
  { error: "must be an absolute https: URL (http: for loopback only), without a fragment" },
);

const key = z.strictObject({
  id: z
    .string()
    .min(1)
    .max(200)
    .refine((id) => id === "" || identifierFault(id) === undefined, {
      error: "cannot hold control characters, or others that cannot be seen",
    })
    .refine((id) => !isReservedId(id), {
      error:
        "must not be an id of the gateway itself, or read like one (anonymous, operator, admin-token, shared, service, group:NAME); give the key another id",
    })
    .describe("The id of its principal in rules, limits and logs. Two keys may have the same one."),
  hash: z
    .string()
    .regex(KEY_HASH, { error: 'must be "sha256:" and 64 hexadecimal digits, as "cardea key" prints it' })
    .meta({ pattern: orVariable(KEY_HASH) })
    .describe("The SHA-256 of the key; the key itself is not stored."),
  groups: z
    .array(
      z
        .string()
        .min(1)
        .refine((group) => !hasHiddenCharacters(group), {
          error: "cannot hold characters that cannot be seen",
        }),
    )
    .default([])
    .describe("The groups of its principal."),
  expires: z
    .string()
    .refine((text) => EXPIRY.test(text) && !Number.isNaN(Date.parse(text)), {
      error: 'must be a date or a time such as "2027-01-31" or "2027-01-31T12:00:00Z"',
    })
    .meta({ pattern: orVariable(EXPIRY) })
    .exactOptional()
    .describe("When the key expires; a date alone means 00:00 UTC. Default: never."),
});

const jwt = z.strictObject({
  issuer: address.describe("The authorization server: the exact `iss` of tokens."),
  audience: z
    .union([z.string().min(1), z.array(z.string().min(1)).min(1)])
    .exactOptional()
    .describe("The required `aud` of tokens; of several, one suffices. Default: `auth.resource`."),
  jwksUri: address
    .exactOptional()
    .describe("The URL of the issuer's public keys (JWKS). Default: from the issuer's metadata."),
  algorithms: z
    .array(z.enum(TOKEN_ALGORITHMS))
    .min(1)
    .default(["RS256", "PS256", "ES256", "EdDSA", "Ed25519"])
    .describe("The accepted signature algorithms."),
  groupsClaim: z
    .string()
    .min(1)
    .default("groups")
    .describe("The claim with the groups, a text or a list; `a.b` also finds `b` inside `a`."),
  scopes: scopes
    .default([])
    .describe("Further scopes in the metadata for hosts; rules define what needs them."),
});

/** The keys before those of features. */
const firstKeys = {
  keys: z
    .array(key.meta({ id: "key" }))
    .exactOptional()
    .describe(
      "API keys, made by `cardea key`; sent as `Authorization: Bearer …` or `X-API-Key: …`. With an empty list, and neither `jwt` nor `signIn`, no host is let in.",
    ),
  jwt: jwt.exactOptional().describe("Tokens of an authorization server, sent as `Authorization: Bearer …`."),
};

/** The keys after those of features. */
const lastKeys = {
  resource: z
    .string()
    .refine(isResource, { error: "must be an absolute http: or https: URL without query and fragment" })
    .exactOptional()
    .describe(
      "The URL of this gateway for hosts, and the required `aud` of tokens. Default: `listen.http.publicUrl` with the path, else the URL it listens at, which is right on loopback only.",
    ),
  requiredScopes: scopes.default([]).describe("Scopes that every token must have."),
};

/** The zod schema of `auth`, with the keys of features. */
export const authSchema = (sections: readonly Section[]): z.ZodType<AuthShape> =>
  z.strictObject({ ...firstKeys, ...keysWithin(sections, "auth"), ...lastKeys });

function isResource(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, search, hash, username, password } = new URL(text);
  return /^https?:$/.test(protocol) && [search, hash, username, password].every((part) => part === "");
}

/** The keys of the gateway in `auth`, as written in the file. */
export type AuthShape = z.infer<z.ZodObject<typeof firstKeys & typeof lastKeys>>;
