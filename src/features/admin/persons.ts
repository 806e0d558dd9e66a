/** The persons who sign in at the issuer of the gateway's hosts, for the admin listener. */
import type { Principal } from "../../core/client.js";
import type { Authentication } from "../../downstream/authenticate/authentication.js";
import { HttpRefusal } from "../../downstream/http-errors.js";
import { stringAt } from "../../wire/json.js";

/** Where the console signs a person in. */
export interface SignInOffer {
  /** The authorization server of the gateway. */
  readonly issuer: string;
  /** The audience of the tokens. */
  readonly resource: string;
}

/** Persons and their tokens. */
export interface Persons {
  /** Whose token it is, with the groups in it. @throws HttpRefusal */
  identify(authorization: string): Promise<Principal>;
  /** Undefined where the console cannot sign a person in by itself. */
  offer(): Promise<SignInOffer | undefined>;
}

/** Persons, as the authentication of hosts knows them in this process. API keys are for hosts: none of them is a person. */
export const personsOf = (
  authentication: Pick<Authentication, "authenticate" | "metadata">,
  hasSignIn: () => boolean,
): Persons => ({
  async identify(authorization) {
    const principal = await authentication.authenticate({ headers: { authorization } });
    if (principal.byToken === true) return principal;
    throw new HttpRefusal(
      401,
      "unauthenticated",
      "this listener takes the tokens of persons, and no API keys",
      {
        "www-authenticate": 'Bearer realm="cardea admin", error="invalid_token"',
      },
    );
  },
  async offer() {
    const metadata = hasSignIn() ? authentication.metadata() : undefined;
    if (metadata === undefined) return undefined;
    const [issuer] = metadata.authorization_servers as readonly string[];
    const resource = stringAt(metadata, "resource");
    return issuer === undefined || resource === undefined ? undefined : { issuer, resource };
  },
});
