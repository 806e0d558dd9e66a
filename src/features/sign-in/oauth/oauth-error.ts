/** The error of a sign-in that cannot start or continue. */
import { HIDDEN_CHARACTERS } from "../../../wire/readable-text.js";
import type { Step } from "../types.js";

/** Facts about the failure, besides its message. */
interface OAuthErrorDetails extends ErrorOptions {
  /** The steps up to the failure. */
  readonly steps?: readonly Step[];
  /** True if a retry may succeed: 5xx, no connection. Never a reason to open a browser. */
  readonly isTemporary?: boolean;
  /** The quirk that would avoid it, as written in the config. */
  readonly quirk?: string | undefined;
  /** A word for outcomes of token requests. Default: `no_authorization_server`. */
  readonly code?: string;
}

/** The message names the server or URL, the violated rule and what to do. It contains no secrets. */
export class OAuthError extends Error {
  override readonly name = "OAuthError";
  readonly steps: readonly Step[];
  readonly isTemporary: boolean;
  readonly quirk: string | undefined;
  readonly code: string;

  constructor(
    sentence: string,
    {
      steps = [],
      isTemporary = false,
      quirk,
      code = "no_authorization_server",
      ...options
    }: OAuthErrorDetails = {},
  ) {
    super(sentence, options);
    this.steps = steps;
    this.isTemporary = isTemporary;
    this.quirk = quirk;
    this.code = code;
  }
}

/** The message of any thrown value. */
export const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Maximum length (characters) of a peer's text in an error. */
const MAX_TEXT = 200;

/**
 * A peer's text for a message or log line: one line, without control characters and `secrets`, at most 200 characters.
 */
export function quotedText(text: string, secrets: readonly string[] = []): string {
  let safe = text;
  for (const secret of secrets) if (secret !== "") safe = safe.replaceAll(secret, "…");
  safe = safe.replace(/\s+/g, " ").replace(HIDDEN_CHARACTERS, " ").trim();
  return safe.length > MAX_TEXT ? `${safe.slice(0, MAX_TEXT)}…` : safe;
}
