/** Parses a token response (RFC 6749, 5). Lenient: no issued token is lost because of a detail. */

import { isObject, type JsonObject, numberOf, stringAt } from "../../../wire/json.js";
import { parseJson } from "../../../wire/json-text.js";
import type { TokenSet } from "../../vault/types.js";
import type { TokenOutcome } from "../types.js";
import { quotedText } from "./oauth-error.js";

/** Context that the response does not contain. */
export interface TokenAnswerContext {
  /** When the request was sent (ms since 1970): lifetimes start here, so clock skew does not matter. */
  readonly askedAt: number;
  /** Values of the request that no error may repeat. */
  readonly secrets?: readonly string[];
}

/**
 * Parses a response. Accepts 200 and 201, `refresh_token: null`, a missing `token_type`, `expires_in` as text, scopes
 * as a list, a form instead of JSON, and an error with status 200.
 *
 * @returns never throws; `ambiguous` if a success cannot be parsed
 */
export async function tokenAnswer(response: Response, context: TokenAnswerContext): Promise<TokenOutcome> {
  const { status } = response;
  const answer = objectIn(await response.text(), response.headers.get("content-type") ?? "");
  if (status >= 500 || status === 429 || status === 408) {
    const retryAfterMs = retryAfter(response.headers.get("retry-after"), context.askedAt);
    const reason = `the token endpoint answered ${status}`;
    return { kind: "unavailable", reason, ...(retryAfterMs !== undefined && { retryAfterMs }) };
  }
  const error = stringAt(answer, "error");
  if (error !== undefined && error !== "") return errorOutcome(error, answer, context);
  if (status !== 200 && status !== 201) {
    const type = response.headers.get("content-type")?.split(";")[0] ?? "nothing";
    const description = `the token endpoint answered ${status} without an OAuth error (${quotedText(type)})`;
    return { kind: "refused", error: `http_${status}`, description };
  }
  if (answer === undefined) {
    return {
      kind: "ambiguous",
      reason: `the token endpoint answered ${status} with something other than JSON`,
    };
  }
  return tokensIn(answer, context);
}

/** JSON, or the form that GitHub returns; undefined for everything else. */
function objectIn(text: string, contentType: string): JsonObject | undefined {
  if (contentType.startsWith("application/x-www-form-urlencoded")) {
    return Object.fromEntries(new URLSearchParams(text));
  }
  try {
    const value = parseJson(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** In seconds, or a date (RFC 9110, 10.2.3). */
function retryAfter(header: string | null, now: number): number | undefined {
  if (header === null) return undefined;
  const ms = /^\d{1,9}$/.test(header) ? Number(header) * 1000 : Date.parse(header) - now;
  return Number.isFinite(ms) && ms >= 0 ? ms : undefined;
}

/** Error codes of authorization servers that do not use those of RFC 6749: GitHub, Slack. */
const SYNONYMS: ReadonlyMap<string, string> = new Map([
  ["bad_refresh_token", "invalid_grant"],
  ["bad_verification_code", "invalid_grant"],
  ["invalid_refresh_token", "invalid_grant"],
  ["incorrect_client_credentials", "invalid_client"],
  ["bad_client_secret", "invalid_client"],
  ["invalid_client_id", "invalid_client"],
]);
/** The server is unavailable; the same request may succeed later. */
const TEMPORARY: ReadonlySet<string> = new Set(["temporarily_unavailable", "server_error"]);

function errorOutcome(
  error: string,
  answer: JsonObject | undefined,
  { secrets = [] }: TokenAnswerContext,
): TokenOutcome {
  const said = stringAt(answer, "error_description");
  const description = said === undefined ? {} : { description: quotedText(said, secrets) };
  const code = SYNONYMS.get(error) ?? error;
  if (code === "invalid_grant" || code === "invalid_client") return { kind: code, ...description };
  if (TEMPORARY.has(code)) return { kind: "unavailable", reason: `the token endpoint answered ${code}` };
  return { kind: "refused", error: quotedText(code, secrets), ...description };
}

/** Token types that cannot be sent as `Bearer`. Every other type is sent as Bearer. */
const OTHER_TYPES: ReadonlySet<string> = new Set(["dpop", "mac", "pop"]);
/** Visible ASCII: other characters could end the header. */
const SENDABLE = /^[\x21-\x7e]+$/;
/** In seconds, ten years. A larger `expires_in` is cut to this. */
const MAX_LIFE_S = 315_360_000;

function tokensIn(answer: JsonObject, { askedAt }: TokenAnswerContext): TokenOutcome {
  const accessToken = stringAt(answer, "access_token") ?? "";
  if (!SENDABLE.test(accessToken)) {
    const description =
      accessToken === ""
        ? "the answer has no access_token and no error"
        : "the access token has characters that no header may have";
    return { kind: "refused", error: "invalid_response", description };
  }
  const type = stringAt(answer, "token_type")?.toLowerCase() ?? "bearer";
  if (OTHER_TYPES.has(type)) {
    const description = `the token is of type ${type}, and only Bearer is supported`;
    return { kind: "refused", error: "unsupported_token_type", description };
  }
  const refreshToken = stringAt(answer, "refresh_token");
  const idToken = stringAt(answer, "id_token");
  const scope = scopeIn(answer);
  const life = numberOf(answer.expires_in) ?? Number.parseFloat(stringAt(answer, "expires_in") ?? "");
  const tokens: TokenSet = {
    accessToken,
    ...(refreshToken && { refreshToken }),
    ...(idToken && { idToken }),
    ...(scope && { scope }),
    obtainedAt: askedAt,
    ...(life > 0 && { expiresAt: askedAt + Math.min(life, MAX_LIFE_S) * 1000 }),
  };
  return { kind: "tokens", tokens };
}

function scopeIn({ scope }: JsonObject): string | undefined {
  if (Array.isArray(scope)) return scope.filter((one) => typeof one === "string").join(" ");
  return typeof scope === "string" ? scope : undefined;
}
