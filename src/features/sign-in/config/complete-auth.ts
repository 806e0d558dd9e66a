/** Completes `auth` of a server (how the gateway signs in), and refuses contradictions. */
import { createPrivateKey } from "node:crypto";
import type { SectionServer } from "../../../config/section.js";
import type { ServerAuthConfig } from "../../../config/server-auth.js";
import { ServerConfigError } from "../../../config/server-config-error.js";
import type { ServerAuthShape } from "./auth-schema.js";

declare module "../../../config/server-auth.js" {
  interface CredentialTypes {
    readonly client_credentials: true;
    readonly private_key_jwt: true;
    readonly enterprise: true;
    readonly token_exchange: true;
  }

  interface ServerAuthConfig {
    readonly clientId?: string;
    readonly clientSecret?: string;
    /** PEM or JWK, checked to be a private key. */
    readonly privateKey?: string;
    /** `kid` of a key in PEM. */
    readonly keyId?: string;
    readonly clientMetadataUrl?: string;
    /** Absent: those of the server's challenge. */
    readonly scopes?: readonly string[];
    /** Absent: the first one that the server names. */
    readonly issuer?: string;
    /** The resource that tokens are for, and that the server's metadata names. Absent: the server's URL. */
    readonly resource?: string;
    /** With `enterprise` and `token_exchange`, always. */
    readonly idp?: IdentityProviderConfig;
    /** With `token_exchange`. */
    readonly audience?: string;
    /** What is not set is off; the names are those of `Quirks` in `sign-in/types.ts`. */
    readonly quirks: {
      readonly issuerSlash?: boolean;
      readonly issuer?: string;
      readonly noResource?: boolean;
      readonly assumeS256?: boolean;
      readonly basicRaw?: boolean;
      readonly clientName?: string;
      readonly redirectHost?: "localhost";
    };
    /** Hosts whose private addresses may be connected to. */
    readonly allowHosts: readonly string[];
  }
}

/** The company's issuer, where a person signs in once. */
interface IdentityProviderConfig {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret?: string;
  readonly privateKey?: string;
  readonly keyId?: string;
  readonly scopes: readonly string[];
  readonly subjectToken: "id_token" | "refresh_token" | "access_token";
}

/** A contradiction: a sentence about the server, and the key of `auth` (as a path) that it is about. */
interface Contradiction {
  readonly message: string;
  readonly path: readonly string[];
}

/**
 * `shape` is undefined if the server has no `auth`: an HTTP server without a configured `Authorization` header is then
 * signed in to when it requires that. The result is undefined without sign-in.
 *
 * @throws ServerConfigError
 */
export function completeServerAuth(
  shape: ServerAuthShape | undefined,
  server: SectionServer,
): ServerAuthConfig | undefined {
  const completed = completeOrContradict(shape, server);
  if (completed === undefined || !("message" in completed)) return completed;
  throw new ServerConfigError(completed.message, "auth", ...completed.path);
}

function completeOrContradict(
  shape: ServerAuthShape | undefined,
  { kind, headers, hasPrincipals }: SectionServer,
): ServerAuthConfig | Contradiction | undefined {
  const ownHeader = Object.keys(headers).some((name) => name.toLowerCase() === "authorization");
  if (shape === undefined)
    return kind === "http" && !ownHeader
      ? { type: "oauth", isAssumed: true, as: "principal", hasPrincipals, quirks: {}, allowHosts: [] }
      : undefined;
  if (kind === "stdio")
    return contradiction([], 'has "auth", which a stdio server has not; its credentials go into "env"');
  const { type, as, quirks, ...given } = shape;
  if (type === "none") return unusedKey(shape, type, []);
  if (ownHeader)
    return contradiction(
      [],
      'has both "auth" and an "Authorization" header; remove the header, or set "auth": { "type": "none" }',
    );
  const wrong = wrongKeys(shape) ?? wrongIdentity(type, as);
  if (wrong !== undefined) return wrong;
  const isService = SERVICE_TYPES.has(type);
  return {
    ...given,
    type,
    as: as ?? (isService ? "service" : "principal"),
    hasPrincipals,
    quirks: quirksOf(quirks),
  };
}

/** Every secret value of `auth`. */
export const secretsOf = (auth: ServerAuthConfig | undefined): readonly string[] =>
  [auth?.clientSecret, auth?.privateKey, auth?.idp?.clientSecret, auth?.idp?.privateKey].filter(
    (secret) => secret !== undefined,
  );

const SERVICE_TYPES: ReadonlySet<string> = new Set(["client_credentials", "private_key_jwt"]);

type Type = ServerAuthShape["type"];
type OptionalKey = "clientId" | "clientSecret" | "privateKey" | "keyId" | "clientMetadataUrl" | "scopes";
type Key = OptionalKey | "issuer" | "resource" | "idp" | "audience" | "as";

/** The keys without effect for a type. */
const UNUSED: Readonly<Record<Type, readonly Key[]>> = {
  oauth: ["idp", "audience"],
  client_credentials: ["privateKey", "keyId", "clientMetadataUrl", "idp", "audience"],
  private_key_jwt: ["clientSecret", "clientMetadataUrl", "idp", "audience"],
  enterprise: ["audience"],
  token_exchange: [],
  none: [
    ...(["as", "clientId", "clientSecret", "privateKey", "keyId", "clientMetadataUrl", "scopes"] as const),
    ...(["issuer", "resource", "idp", "audience"] as const),
  ],
};

/** The keys that a type requires. */
const NEEDED: Readonly<Record<Type, readonly Key[]>> = {
  oauth: [],
  client_credentials: ["clientId", "clientSecret"],
  private_key_jwt: ["clientId", "privateKey"],
  enterprise: ["idp"],
  token_exchange: ["idp"],
  none: [],
};

function wrongKeys(shape: ServerAuthShape): Contradiction | undefined {
  const { type, idp } = shape;
  const missing = NEEDED[type].find((key) => shape[key] === undefined);
  if (missing !== undefined)
    return contradiction(["type"], `has "auth" of type "${type}", which needs "${missing}"`);
  return (
    unusedKey(shape, type, UNUSED[type]) ??
    wrongClient(shape, ["clientMetadataUrl"]) ??
    (idp === undefined ? undefined : wrongProvider(idp, type))
  );
}

function unusedKey(shape: ServerAuthShape, type: Type, keys: readonly Key[]): Contradiction | undefined {
  const unused = (type === "none" ? UNUSED.none : keys).find((key) => shape[key] !== undefined);
  return unused === undefined
    ? undefined
    : contradiction([unused], `has "auth.${unused}", which means nothing with type "${type}"`);
}

type Client = Pick<ServerAuthShape, OptionalKey>;

/** A secret or key is that of a client id; `path` has the keys that would name a second client. */
function wrongClient(client: Client, others: readonly OptionalKey[]): Contradiction | undefined {
  const other = others.find((key) => client[key] !== undefined);
  if (other !== undefined && client.clientId !== undefined)
    return contradiction([other], `has both "auth.clientId" and "auth.${other}"; the client has one id`);
  const secret = (["clientSecret", "privateKey"] as const).find((key) => client[key] !== undefined);
  const isDocumentKey = secret === "privateKey" && client.clientMetadataUrl !== undefined;
  if (secret !== undefined && client.clientId === undefined && !isDocumentKey)
    return contradiction([secret], `has "auth.${secret}" without "auth.clientId", whose it is`);
  return wrongKey(client, []);
}

function wrongKey(
  { clientSecret, privateKey, keyId }: Client,
  path: readonly string[],
): Contradiction | undefined {
  const at = ["auth", ...path].join(".");
  if (clientSecret !== undefined && privateKey !== undefined)
    return contradiction(
      [...path, "privateKey"],
      `has both "${at}.clientSecret" and "${at}.privateKey"; a client proves itself by one of them`,
    );
  if (keyId !== undefined && privateKey === undefined)
    return contradiction([...path, "keyId"], `has "${at}.keyId" without "${at}.privateKey"`);
  if (privateKey !== undefined && !isPrivateKey(privateKey))
    return contradiction(
      [...path, "privateKey"],
      `has an "${at}.privateKey" that is no private key: it must be PEM ("-----BEGIN PRIVATE KEY-----") without a passphrase, or a JWK with "d"`,
    );
  return undefined;
}

function wrongProvider(idp: NonNullable<ServerAuthShape["idp"]>, type: Type): Contradiction | undefined {
  if (type === "enterprise" && idp.subjectToken === "access_token")
    return contradiction(
      ["idp", "subjectToken"],
      'has "auth.idp.subjectToken": "access_token"; an enterprise sign-in exchanges an ID token or a refresh token',
    );
  return wrongKey(idp, ["idp"]);
}

function wrongIdentity(type: Type, as: ServerAuthShape["as"]): Contradiction | undefined {
  if (as === undefined) return undefined;
  const isService = SERVICE_TYPES.has(type);
  if (isService && as !== "service")
    return contradiction(
      ["as"],
      `has "auth.as": "${as}", but with type "${type}" no person signs in, only the gateway ("service")`,
    );
  if (!isService && as === "service")
    return contradiction(
      ["as"],
      `has "auth.as": "service", but with type "${type}" a person signs in; for the gateway itself the type is "client_credentials" or "private_key_jwt"`,
    );
  if (as === "shared" && type !== "oauth")
    return contradiction(
      ["as"],
      `has "auth.as": "shared", but with type "${type}" each person has tokens of their own`,
    );
  return undefined;
}

function isPrivateKey(text: string): boolean {
  try {
    createPrivateKey(text.trim().startsWith("{") ? { key: JSON.parse(text), format: "jwk" } : text);
    return true;
  } catch {
    // Node's message may quote the key.
    return false;
  }
}

const quirksOf = (shape: ServerAuthShape["quirks"]): ServerAuthConfig["quirks"] => ({
  ...(shape["issuer-slash"] && { issuerSlash: true }),
  ...(shape.issuer !== undefined && { issuer: shape.issuer }),
  ...(shape["no-resource"] && { noResource: true }),
  ...(shape["assume-s256"] && { assumeS256: true }),
  ...(shape["basic-raw"] && { basicRaw: true }),
  ...(shape["client-name"] !== undefined && { clientName: shape["client-name"] }),
  ...(shape["redirect-host"] !== undefined && { redirectHost: shape["redirect-host"] }),
});

const contradiction = (path: readonly string[], message: string): Contradiction => ({ message, path });
