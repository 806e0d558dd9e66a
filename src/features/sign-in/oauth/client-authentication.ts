/** Client authentication at token endpoints (RFC 6749, 2.3; RFC 7523, 2.2). */
import { importJWK, importPKCS8, type JWTHeaderParameters, SignJWT } from "jose";
import type { ClientAuth } from "oauth4webapi";
import { isObject, stringAt } from "../../../wire/json.js";
import { parseJson } from "../../../wire/json-text.js";
import type { ClientRegistration } from "../../vault/types.js";
import type { Quirks } from "../types.js";
import { OAuthError, reasonOf } from "./oauth-error.js";

/** A private key that signs client assertions. */
export interface SigningKey {
  readonly key: Awaited<ReturnType<typeof importPKCS8>> | Uint8Array;
  readonly alg: string;
  readonly kid?: string;
}

/**
 * Reads a private key: PEM (PKCS #8) or a JWK.
 *
 * @param text as written in the config
 * @param alg JWS algorithm; default: that of the JWK, otherwise `RS256` or `ES256` by key type
 * @throws OAuthError if it is neither
 */
export async function importSigningKey(text: string, alg?: string, kid?: string): Promise<SigningKey> {
  const named = kid === undefined ? {} : { kid };
  try {
    if (text.trimStart().startsWith("{")) {
      const jwk = parseJson(text);
      if (!isObject(jwk) || stringAt(jwk, "d") === undefined) throw new Error("it is no private JWK");
      const used = alg ?? stringAt(jwk, "alg") ?? (jwk.kty === "RSA" ? "RS256" : "ES256");
      const ownKid = stringAt(jwk, "kid");
      return { key: await importJWK(jwk, used), alg: used, ...(ownKid && { kid: ownKid }), ...named };
    }
    for (const candidate of alg === undefined ? ["RS256", "ES256", "EdDSA"] : [alg]) {
      const key = await importPKCS8(text, candidate).catch((error: unknown) => {
        if (alg !== undefined) throw error;
      });
      if (key !== undefined) return { key, alg: candidate, ...named };
    }
    throw new Error("it matches none of RS256, ES256, EdDSA: name the algorithm");
  } catch (cause) {
    const sentence = "The private key cannot be read as PKCS #8 (PEM) or as a JWK";
    throw new OAuthError(`${sentence}: ${reasonOf(cause)}.`, { cause });
  }
}

/**
 * The authentication of a client, for `oauth4webapi`.
 *
 * @throws OAuthError if the method needs a secret or key that is missing
 */
export function clientAuthentication(
  client: ClientRegistration,
  { basicRaw = false }: Quirks = {},
  signingKey?: SigningKey,
): ClientAuth {
  const { clientId, clientSecret, tokenEndpointAuthMethod: method } = client;
  if (method === "none") return (_as, _client, body) => body.set("client_id", clientId);
  if (method === "private_key_jwt") {
    if (signingKey === undefined) throw missing(clientId, "private key");
    // No client_id in the body: the assertion contains it (RFC 7521, 4.2;
    // io.modelcontextprotocol/oauth-client-credentials).
    return async ({ issuer }, _client, body) => {
      body.set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer");
      body.set("client_assertion", await clientAssertion(clientId, issuer, signingKey));
    };
  }
  if (clientSecret === undefined) throw missing(clientId, "secret");
  if (method === "client_secret_post") {
    return (_as, _client, body) => {
      body.set("client_id", clientId);
      body.set("client_secret", clientSecret);
    };
  }
  const encode = basicRaw ? (text: string) => text : formEncoded;
  return (_as, _client, _body, headers) => {
    const pair = Buffer.from(`${encode(clientId)}:${encode(clientSecret)}`).toString("base64");
    headers.set("authorization", `Basic ${pair}`);
  };
}

const missing = (clientId: string, what: string): OAuthError =>
  new OAuthError(`The client ${clientId} has no ${what}: write it into auth of the server's config.`);

/**
 * application/x-www-form-urlencoded (RFC 6749, 2.3.1), with unreserved characters unchanged: many servers do not decode
 * the secret, and a secret of unreserved characters suits both.
 */
function formEncoded(text: string): string {
  return encodeURIComponent(text)
    .replace(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll("%20", "+");
}

/** In seconds; a client assertion is used immediately. */
const ASSERTION_S = 60;

async function clientAssertion(
  clientId: string,
  issuer: string,
  { key, alg, kid }: SigningKey,
): Promise<string> {
  const header: JWTHeaderParameters = { alg, ...(kid !== undefined && { kid }) };
  return new SignJWT()
    .setProtectedHeader(header)
    .setIssuer(clientId)
    .setSubject(clientId)
    .setAudience(issuer)
    .setJti(crypto.randomUUID())
    .setIssuedAt()
    .setExpirationTime(`${ASSERTION_S}s`)
    .sign(key);
}
