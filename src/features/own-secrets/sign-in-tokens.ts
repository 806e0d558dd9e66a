/** Which tokens of sign-ins does this process use? They change while it runs. */
import type { CredentialSource } from "../../core/credentials.js";
import { SecretValues } from "./secret-values.js";

/** The tokens of all principals at all servers. */
export class SignInTokens {
  readonly values = new SecretValues();
  /** By sign-in; as many as the source has. */
  readonly #known = new Map<string, { readonly server: string; readonly tokens: readonly string[] }>();
  #unfollow: () => void = () => {};

  /** Keeps them as `source` has them. */
  follow(source: Pick<CredentialSource, "watchTokens"> | undefined): void {
    this.#unfollow =
      source?.watchTokens?.((id, server, tokens) => this.#replace(id, server, tokens)) ?? this.#unfollow;
  }

  close(): void {
    this.#unfollow();
    this.#known.clear();
  }

  #replace(id: string, server: string, tokens: readonly string[]): void {
    const before = this.#known.get(id);
    for (const token of tokens) this.values.add(token, server);
    for (const token of before?.tokens ?? []) this.values.delete(token, before?.server ?? server);
    if (tokens.length === 0) this.#known.delete(id);
    else this.#known.set(id, { server, tokens });
  }
}
