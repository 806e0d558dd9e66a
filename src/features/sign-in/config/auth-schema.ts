/** The schema of `mcpServers.NAME.auth`: how the gateway signs in to a server. */
import { z } from "zod";
import { address, scopes } from "../../../config/auth-schema.js";

/** How a token is obtained, and `none`. */
const AUTH_TYPES = [
  ...["oauth", "client_credentials", "private_key_jwt"],
  ...["enterprise", "token_exchange", "none"],
] as const;

/** One line, so that it can stand in a header or a form. */
const text = z
  .string()
  .min(1)
  .refine((value) => !/\p{Cc}/u.test(value), { error: "cannot hold control characters" });

const clientId = text.exactOptional();
const clientSecret = text.exactOptional();
const privateKey = z
  .string()
  .min(1)
  .exactOptional()
  .describe(
    "The private key that signs its assertions: PEM (PKCS #8) or a JWK. Use a variable, such as one of a file.",
  );
const keyId = text.exactOptional().describe("The `kid` of that key, where it is PEM. A JWK has its own.");

const identityProvider = z.strictObject({
  issuer: address.describe("The company's issuer (OpenID Connect), where a person signs in once."),
  clientId: text.describe("The gateway's client id there."),
  clientSecret: clientSecret.describe("Its secret there; use a variable."),
  privateKey,
  keyId,
  scopes: scopes.default(["openid", "offline_access"]).describe("The scopes of that sign-in."),
  subjectToken: z
    .enum(["id_token", "refresh_token", "access_token"])
    .default("id_token")
    .describe("Which token of that sign-in is exchanged; `access_token` with `token_exchange` only."),
});

/** A name of a host, without a port. */
const HOST_NAME = /^(?:\[[0-9a-f:.]+\]|[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?)$/i;

const quirks = z.strictObject({
  "issuer-slash": z
    .boolean()
    .default(false)
    .describe("A slash at the end of the issuer does not count (Google)."),
  issuer: address
    .exactOptional()
    .describe("The issuer that the metadata may name instead of the one that they were asked for."),
  "no-resource": z.boolean().default(false).describe("Sends no `resource` parameter (Microsoft Entra)."),
  "assume-s256": z
    .boolean()
    .default(false)
    .describe("Uses PKCE with S256 although the metadata do not name it (Entra, Amazon Cognito)."),
  "basic-raw": z
    .boolean()
    .default(false)
    .describe("Sends client id and secret in `Basic` authentication without form-encoding."),
  "client-name": text
    .max(200)
    .exactOptional()
    .describe("The name with which the gateway registers itself, where only listed names may (Figma)."),
  "redirect-host": z
    .enum(["localhost"])
    .exactOptional()
    .describe("The loopback host of the redirect URI, where it is compared as text (GitHub)."),
});

/** The zod schema of `mcpServers.NAME.auth`. */
export const serverAuthSchema = z.strictObject({
  type: z
    .enum(AUTH_TYPES)
    .default("oauth")
    .describe(
      "How a token is obtained: a person signs in (`oauth`), the gateway itself does by secret (`client_credentials`) or key (`private_key_jwt`), the sign-in at the company's issuer is used (`enterprise`: ID-JAG, `token_exchange`: RFC 8693), or not at all (`none`).",
    ),
  as: z
    .enum(["principal", "shared", "service"])
    .optional()
    .describe(
      "Whose credentials a call carries: those of its principal, those of one person for all hosts (`shared`), or those of the gateway (`service`). Default: `service` with `client_credentials` and `private_key_jwt`, else `principal`.",
    ),
  clientId: clientId.describe(
    "The client id that was registered by hand. Default: the gateway registers itself.",
  ),
  clientSecret: clientSecret.describe("Its secret; use a variable."),
  privateKey,
  keyId,
  clientMetadataUrl: address
    .exactOptional()
    .describe(
      "The URL of a client metadata document of your own, which is then the client id. Default: `PUBLIC-URL/oauth/client.json`, where `listen.http.publicUrl` is https.",
    ),
  scopes: scopes.exactOptional().describe("The scopes to request. Default: those in the server's challenge."),
  issuer: address
    .exactOptional()
    .describe(
      "The authorization server. Default: the first one that the server names; that one is pinned, and another one is refused until `cardea login NAME --accept-issuer`.",
    ),
  resource: address
    .exactOptional()
    .describe(
      "The resource that tokens are for, where the server's metadata name more than its URL, such as its origin: the tokens are valid for all of it. Default: the server's URL; a person who signs in may agree to more.",
    ),
  idp: identityProvider
    .exactOptional()
    .describe(
      "With `enterprise` and `token_exchange`: the company's issuer. Servers with the same one share a person's sign-in.",
    ),
  audience: text
    .exactOptional()
    .describe("With `token_exchange`: the `audience` of the token. Default: none, only `resource`."),
  quirks: quirks
    .prefault({})
    .describe(
      "Rules of OAuth that this server's authorization server breaks; all off (`cardea doctor` names them).",
    ),
  allowHosts: z
    .array(
      z.string().regex(HOST_NAME, { error: 'must be a host such as "login.corp.example", without a port' }),
    )
    .default([])
    .describe("Hosts with private addresses that may be asked for metadata and tokens."),
});

/** `auth` as the file has it. */
export type ServerAuthShape = z.infer<typeof serverAuthSchema>;
