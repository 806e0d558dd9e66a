/** The stored sign-ins as operators see them, without tokens. */
import { idOfKey } from "../../core/principal.js";
import type { ClientRegistration, Credential, IssuerPin } from "../vault/types.js";
import { pinOf } from "./pinned-issuer.js";
import type { SignInContext } from "./sign-in-context.js";

/** A sign-in, as shown to operators. Never a token. */
export interface LoginRow {
  readonly server: string;
  readonly principal: string;
  readonly state: "signed_in" | "needs_sign_in";
  readonly issuer: string;
  /** The authorization server that the server is bound to; absent for the login of a company. */
  readonly pin?: ShownPin;
  /** What its tokens are valid for. */
  readonly resource: string;
  readonly scopes: readonly string[];
  readonly grant: string;
  /** The registration at the authorization server. */
  readonly client: ClientRegistration["source"];
  /** ISO 8601; absent if the token response does not tell. */
  readonly expiresAt?: string;
  /** Whether the token is renewed without a person. */
  readonly isRenewed: boolean;
}

/** A pinned issuer, as shown to operators. */
export interface ShownPin extends Pick<IssuerPin, "issuer" | "endpoints" | "by"> {
  /** ISO 8601; absent if an earlier version signed in. */
  readonly since?: string;
}

/** All sign-ins, by server and principal. @throws VaultError */
export async function loginRows({
  vault,
  serverOf,
}: Pick<SignInContext, "vault" | "serverOf">): Promise<readonly LoginRow[]> {
  const records = await vault.list();
  const rows = await Promise.all(
    records.map(async (record): Promise<LoginRow> => {
      const { server, principal } = record;
      const [tokens, pin] = [(await vault.read(server, principal))?.tokens, await pinOfServer(server)];
      return rowOf(record, tokens, pin);
    }),
  );
  return rows.sort((a, b) => compare(a.server, b.server) || compare(a.principal, b.principal));

  async function pinOfServer(name: string): Promise<IssuerPin | undefined> {
    const server = serverOf(name);
    return server === undefined ? undefined : pinOf(vault, server);
  }
}

/** A pin for people and JSON. */
export const shownPin = ({ issuer, endpoints, by, pinnedAt }: IssuerPin): ShownPin => ({
  ...{ issuer, endpoints, by },
  ...(pinnedAt > 0 && { since: new Date(pinnedAt).toISOString() }),
});

function rowOf(
  record: Omit<Credential, "tokens">,
  tokens: Credential["tokens"],
  pin: IssuerPin | undefined,
): LoginRow {
  const { server, principal, issuer, resource, askedScopes, grant, client } = record;
  return {
    ...{ server, principal: idOfKey(principal), issuer, resource, grant },
    scopes: tokens?.scope === undefined ? askedScopes : tokens.scope.split(" "),
    state: tokens === undefined ? "needs_sign_in" : "signed_in",
    ...(pin !== undefined && { pin: shownPin(pin) }),
    client: client.source,
    ...(tokens?.expiresAt !== undefined && { expiresAt: new Date(tokens.expiresAt).toISOString() }),
    isRenewed: tokens?.refreshToken !== undefined || WITHOUT_PERSON.has(grant),
  };
}

/** Grants that obtain the next token without a person, while a login lasts. */
const WITHOUT_PERSON: ReadonlySet<string> = new Set(["client_credentials", "jwt_bearer", "token_exchange"]);

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
