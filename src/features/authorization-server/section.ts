/** The section `auth.signIn` of the config: the authorization server for hosts. */
import { z } from "zod";
import type { SignInConfig } from "../../config/auth-config.js";
import { address, scopes } from "../../config/auth-schema.js";
import { duration } from "../../config/duration-schema.js";
import { sectionOf } from "../../config/section.js";
import { parseDuration } from "../../config/units.js";
import { isUnsafeScheme } from "../../wire/unsafe-schemes.js";

/** A host name, without a port. */
const HOST_NAME = /^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/i;

/** One line, so that it fits into a header or a form. */
const text = z
  .string()
  .min(1)
  .refine((value) => !/\p{Cc}/u.test(value), { error: "cannot hold control characters" });

/** Tokens of previous keys are verified for a day after a rotation. */
const MAX_ACCESS_TOKEN_MS = 3_600_000;

const schema = z.strictObject({
  issuer: address.describe(
    "The company's issuer (OpenID Connect), where persons sign in: exactly as its metadata name it. Register `PUBLIC-URL/oauth/authorize/callback` there.",
  ),
  clientId: text.describe("The gateway's client id there."),
  clientSecret: text.exactOptional().describe("Its secret there; use a variable. Default: a public client."),
  scopes: scopes.default(["openid"]).describe("The scopes to request there; `openid` is always included."),
  groupsClaim: z
    .string()
    .min(1)
    .default("groups")
    .describe(
      "The claim of the ID token, or of the user information, with the groups; `a.b` also finds `b` inside `a`.",
    ),
  hostScopes: scopes
    .default([])
    .describe("Scopes that hosts may request, besides `requiredScopes`; rules define what needs them."),
  allowedRedirectHosts: z
    .array(z.string().regex(HOST_NAME, { error: 'must be a host such as "claude.ai", without a port' }))
    .exactOptional()
    .describe(
      "The hosts to whose https addresses a sign-in may lead. Default: any, which the person is asked about. Programs on the person's own computer (loopback) are always allowed.",
    ),
  redirectSchemes: z
    .array(
      z
        .string()
        .regex(/^[a-z][a-z0-9+.-]{0,39}$/i, { error: 'must be a scheme such as "cursor", without a colon' })
        .refine((scheme) => !isUnsafeScheme(scheme.toLowerCase()), {
          error: "cannot be named: it is no program's own scheme",
        }),
    )
    .default([])
    .describe(
      'Private schemes that a sign-in may lead to, such as `["cursor", "vscode"]`: whichever program of the person\'s computer has claimed the scheme gets the result. Default: none. Hosts that register others beside a loopback address are served with that address.',
    ),
  allowHosts: z
    .array(
      z.string().regex(HOST_NAME, { error: 'must be a host such as "login.corp.example", without a port' }),
    )
    .default([])
    .describe("Hosts with private addresses that the metadata of the issuer may name, besides its own."),
  accessTokenLifetime: duration("How long an access token is valid, at most 1h.")
    .refine((value) => (parseDuration(value) ?? 0) <= MAX_ACCESS_TOKEN_MS, { error: "must be at most 1h" })
    .default("10m"),
  lifetime: duration(
    "How long a host stays signed in. Changes at the issuer, of groups for example, take effect at the next sign-in.",
  ).default("168h"),
});

declare module "../../config/auth-config.js" {
  interface SignInConfig {
    readonly scopes: readonly string[];
    readonly groupsClaim: string;
    /** In lower case; absent if all are allowed. */
    readonly allowedRedirectHosts?: readonly string[];
    /** Private schemes that a sign-in may lead to, in lower case, without the colon. */
    readonly redirectSchemes: readonly string[];
    readonly accessTokenMs: number;
    readonly lifetimeMs: number;
  }
}

/** The gateway itself reads which issuer knows its persons. */
export const section = sectionOf({
  path: "auth.signIn",
  schema: schema
    .exactOptional()
    .describe(
      "Makes the gateway an authorization server for its hosts, in front of the company's issuer: a host that has only the URL of the gateway signs its person in (`docs/sign-in-for-hosts.md`).",
    ),
  change: "reload",
  complete({
    accessTokenLifetime,
    lifetime,
    allowedRedirectHosts,
    redirectSchemes,
    ...rest
  }: z.output<typeof schema>): SignInConfig {
    return {
      ...rest,
      ...(allowedRedirectHosts !== undefined && {
        allowedRedirectHosts: allowedRedirectHosts.map((host) => host.toLowerCase()),
      }),
      redirectSchemes: redirectSchemes.map((scheme) => scheme.toLowerCase()),
      accessTokenMs: parseDuration(accessTokenLifetime) ?? 0,
      lifetimeMs: parseDuration(lifetime) ?? 0,
    };
  },
});
