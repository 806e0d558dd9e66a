/** A request to a token endpoint, for any grant. */
import {
  allowInsecureRequests,
  customFetch,
  genericTokenEndpointRequest,
  type AuthorizationServer as Metadata,
  OperationProcessingError,
} from "oauth4webapi";
import { FetchError, type GuardedFetch } from "../../../outgoing/guarded-fetch.js";
import type { ClientRegistration } from "../../vault/types.js";
import type { Quirks, TokenOutcome } from "../types.js";
import { clientAuthentication, type SigningKey } from "./client-authentication.js";
import { quotedText, reasonOf } from "./oauth-error.js";
import { tokenAnswer } from "./token-answer.js";

/** Input of every token request; a `Credential` of the vault has the first five members. */
export interface TokenRequestContext {
  readonly issuer: string;
  readonly tokenEndpoint: string;
  readonly client: ClientRegistration;
  /** The identifier of the protected resource (RFC 8707). Omitted with the quirk `no-resource`. */
  readonly resource?: string | undefined;
  readonly quirks?: Quirks | undefined;
  /** For `private_key_jwt`. */
  readonly signingKey?: SigningKey | undefined;
  readonly fetch: GuardedFetch;
  /** ms since 1970. */
  readonly now: () => number;
  readonly signal?: AbortSignal | undefined;
}

/** Undefined members are omitted. */
export type TokenParameters = Readonly<Record<string, string | undefined>>;

/**
 * Sends a token request, with `resource` and the client's authentication. Follows no redirect.
 *
 * @param secrets the members of `parameters` that no error may repeat
 * @returns the outcome, also if there was no response; rejects only for a client without the secret or key of its
 * method
 */
export async function tokenRequest(
  context: TokenRequestContext,
  grantType: string,
  parameters: TokenParameters,
  secrets: readonly string[] = [],
): Promise<TokenOutcome> {
  const { client } = context;
  const askedAt = context.now();
  const authentication = clientAuthentication(client, context.quirks, context.signingKey);
  const hidden = secrets.map((name) => parameters[name] ?? "").concat(client.clientSecret ?? "");
  try {
    const response = await genericTokenEndpointRequest(
      metadataOf(context),
      { client_id: client.clientId },
      authentication,
      grantType,
      given({ ...parameters, resource: resourceOf(context) }),
      requestOptions(context),
    );
    return await tokenAnswer(response, { askedAt, secrets: hidden });
  } catch (error) {
    return failure(error, hidden);
  }
}

/** The server metadata for `oauth4webapi`. */
export const metadataOf = (
  { issuer, tokenEndpoint }: Pick<TokenRequestContext, "issuer" | "tokenEndpoint">,
  more: Partial<Metadata> = {},
): Metadata => ({ issuer, token_endpoint: tokenEndpoint, ...more });

/** The fetch of the context for `oauth4webapi`; that fetch checks the scheme of URLs. */
export const requestOptions = ({ fetch, signal }: Pick<TokenRequestContext, "fetch" | "signal">) => ({
  [customFetch]: fetch,
  [allowInsecureRequests]: true,
  ...(signal !== undefined && { signal }),
});

/** The members that have a value. */
export const given = (parameters: TokenParameters): Record<string, string> =>
  Object.fromEntries(
    Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );

/** Undefined with the quirk `no-resource`. */
export const resourceOf = ({ resource, quirks }: TokenRequestContext): string | undefined =>
  quirks?.noResource === true ? undefined : resource;

/** No response: `unavailable` if the request was not sent, `ambiguous` if it may have been processed. */
export function failure(error: unknown, secrets: readonly string[] = []): TokenOutcome {
  const reason = quotedText(reasonOf(error), secrets);
  // Thrown by oauth4webapi before it sends, for example for an endpoint that is not an HTTP URL.
  if (error instanceof OperationProcessingError) {
    return { kind: "refused", error: "blocked", description: reason };
  }
  if (!(error instanceof FetchError) || error.kind === "lost") return { kind: "ambiguous", reason };
  if (error.kind === "blocked") return { kind: "refused", error: "blocked", description: reason };
  return { kind: "unavailable", reason };
}
