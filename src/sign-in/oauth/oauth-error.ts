/** What is thrown where signing in to a server cannot begin or go on. */
import type { Step } from "../types.js";

/** Facts about the failure, beside its sentence. */
interface OAuthErrorDetails extends ErrorOptions {
  /** The steps up to the failure. */
  readonly steps?: readonly Step[];
  /** True where the same may succeed later: 5xx, no connection. Never a reason to open a browser. */
  readonly isTemporary?: boolean;
  /** The quirk that would mend it, as it is written in the config. */
  readonly quirk?: string | undefined;
}

/** The message names the server or URL, the rule that is broken, and what to do. It holds no secrets. */
export class OAuthError extends Error {
  override readonly name = "OAuthError";
  readonly steps: readonly Step[];
  readonly isTemporary: boolean;
  readonly quirk: string | undefined;

  constructor(
    sentence: string,
    { steps = [], isTemporary = false, quirk, ...options }: OAuthErrorDetails = {},
  ) {
    super(sentence, options);
    this.steps = steps;
    this.isTemporary = isTemporary;
    this.quirk = quirk;
  }
}

/** The message of anything that was thrown. */
export const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** How many characters of a text of a peer an error repeats. */
const MAX_TEXT = 200;

/** A text of a peer for a sentence or log line: on one line, without control characters and `secrets`, at most 200 characters. */
export function quotedText(text: string, secrets: readonly string[] = []): string {
  let safe = text;
  for (const secret of secrets) if (secret !== "") safe = safe.replaceAll(secret, "…");
  safe = safe.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, " ").trim();
  return safe.length > MAX_TEXT ? `${safe.slice(0, MAX_TEXT)}…` : safe;
}
