/** A token endpoint in memory whose refresh tokens are valid once, and what a test lets go wrong with its answers. */
import type { Obtained, ObtainRequest, TokenEndpoint } from "../../../src/features/sign-in/token-endpoint.js";
import type { TokenOutcome } from "../../../src/features/sign-in/types.js";
import type { ClientRegistration, Credential } from "../../../src/features/vault/types.js";
import { credential } from "../vault/credentials.js";

/** What becomes of one request. */
export type Fate =
  | "answered"
  /** Processed; the answer is lost. The issuer gives the same answer when the token comes again. */
  | "answer lost"
  /** Not processed, without a response. */
  | "request lost"
  | "unavailable"
  | "invalid_grant"
  | "invalid_client"
  | "refused";

export interface Sent {
  readonly refreshToken: string;
  readonly clientId: string;
  readonly fate: Fate;
  /** Whether the process that sent it was alive when the answer came. */
  isAnswered: boolean;
}

export class RotatingIssuer implements TokenEndpoint {
  readonly sent: Sent[] = [];
  /** How many requests are being processed, and the most at once. */
  running = 0;
  mostRunning = 0;
  /** The fates of the next requests; answered where there are none. */
  readonly fates: Fate[] = [];
  /** Runs while a request is under way, such as the end of the process that sent it. */
  meanwhile: () => Promise<void> = () => Promise.resolve();
  registrations = 0;
  retryAfterMs: number | undefined;
  lifeMs: number | undefined = 3_600_000;
  obtain?: (request: ObtainRequest) => Promise<Obtained>;
  #number = 1;
  /** Successors of tokens whose answer was lost. */
  readonly #successors = new Map<string, number>();

  constructor(private readonly now: () => number) {}

  /** The newest refresh token. */
  get newest(): string {
    return `refresh-${this.#number}`;
  }

  /** A sign-in of a person: the record before its first refresh. */
  signIn(change: Partial<Credential> = {}): Credential {
    this.#number += 1;
    return credential({ tokens: this.#tokens(this.#number), ...change });
  }

  async refresh({ tokens, client }: Credential): Promise<TokenOutcome> {
    const refreshToken = tokens?.refreshToken ?? "";
    const fate = this.fates.shift() ?? "answered";
    const sent: Sent = { refreshToken, clientId: client.clientId, fate, isAnswered: true };
    this.sent.push(sent);
    this.running += 1;
    this.mostRunning = Math.max(this.running, this.mostRunning);
    await this.meanwhile();
    this.running -= 1;
    switch (fate) {
      case "request lost":
        return { kind: "ambiguous", reason: "a timeout" };
      case "unavailable":
        return {
          kind: "unavailable",
          reason: "HTTP 503",
          ...(this.retryAfterMs !== undefined && { retryAfterMs: this.retryAfterMs }),
        };
      case "invalid_client":
        return { kind: "invalid_client" };
      case "refused":
        return { kind: "refused", error: "invalid_scope" };
      case "invalid_grant":
        return { kind: "invalid_grant", description: "revoked" };
      case "answered":
      case "answer lost":
        break;
    }
    const successor = this.#successors.get(refreshToken) ?? this.#rotate(refreshToken);
    if (successor === undefined) return { kind: "invalid_grant", description: "used already" };
    if (fate === "answer lost") return { kind: "ambiguous", reason: "a reset" };
    return { kind: "tokens", tokens: this.#tokens(successor) };
  }

  /** The same for one process: a killed one gets no answer. */
  of(process: { readonly isAlive: boolean }): TokenEndpoint {
    const refresh = async (record: Credential): Promise<TokenOutcome> => {
      const outcome = this.refresh(record);
      const sent = this.sent.at(-1);
      await outcome;
      if (process.isAlive) return outcome;
      if (sent !== undefined) sent.isAnswered = false;
      return new Promise(() => {});
    };
    return {
      refresh,
      registerAgain: () => this.registerAgain(),
      challengedScopes: (challenge) => this.challengedScopes(challenge),
      ...(this.obtain !== undefined && { obtain: this.obtain }),
    };
  }

  registerAgain(): Promise<ClientRegistration> {
    this.registrations += 1;
    const clientId = `again-${this.registrations}`;
    return Promise.resolve({ clientId, tokenEndpointAuthMethod: "none", source: "dynamic" });
  }

  challengedScopes(challenge: string | undefined): readonly string[] {
    return /scope="([^"]*)"/.exec(challenge ?? "")?.[1]?.split(" ") ?? [];
  }

  #rotate(refreshToken: string): number | undefined {
    if (refreshToken !== this.newest) return undefined;
    this.#number += 1;
    this.#successors.set(refreshToken, this.#number);
    return this.#number;
  }

  #tokens(number: number) {
    const obtainedAt = this.now();
    return {
      accessToken: `access-${number}`,
      refreshToken: `refresh-${number}`,
      obtainedAt,
      ...(this.lifeMs !== undefined && { expiresAt: obtainedAt + this.lifeMs }),
    };
  }
}
