/** Why a sign-in cannot continue, for the person at the browser. */
import { VaultError } from "../vault/vault-error.js";
import { OAuthError } from "./oauth/client.js";

/** The message says what happened and what to do; it contains no secret, and only sanitized text of a peer. */
export class SignInRefusal extends Error {
  override readonly name = "SignInRefusal";
  /** The path of the gateway where the person has begun, and may begin again. */
  readonly back: string | undefined;

  /** @param status HTTP status of the page */
  constructor(
    sentence: string,
    readonly status: 400 | 403 | 404 | 409 | 410 | 429 | 500 | 502 | 503 = 400,
    { back, ...options }: ErrorOptions & { readonly back?: string } = {},
  ) {
    super(sentence, options);
    this.back = back;
  }

  /** The same, with the way back. */
  leadingTo(back: string | undefined): SignInRefusal {
    return back === undefined ? this : new SignInRefusal(this.message, this.status, { cause: this, back });
  }
}

/** The refusal for a thrown value; undefined for a bug of the gateway. */
export function asRefusal(error: unknown): SignInRefusal | undefined {
  if (error instanceof SignInRefusal) return error;
  if (error instanceof OAuthError)
    return new SignInRefusal(error.message, error.isTemporary ? 503 : 502, { cause: error });
  if (error instanceof VaultError)
    return new SignInRefusal(error.message, error.fault === "store" ? 503 : 500, { cause: error });
  return undefined;
}
