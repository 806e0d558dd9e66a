/** What do sign-ins add to the admin API? A page, and actions to begin, poll, finish and end them. */
import { ANONYMOUS } from "../../core/client.js";
import { badRequest } from "../../core/errors.js";
import type { AdminAction, FeatureAdmin, OwnAdminAction } from "../../core/feature.js";
import { type JsonObject, stringAt } from "../../wire/json.js";

/**
 * The sign-ins of the gateway. Results are data for JSON, without tokens. @throws GatewayError, with a message for the
 * operator
 */
export interface LoginActions {
  /** Starts one at `server` for the principal `as`. */
  begin(
    server: string,
    as: string,
    options: { readonly device: boolean; readonly acceptsAudience: boolean },
  ): Promise<unknown>;
  /** Pins the authorization server that `server` names now. */
  acceptIssuer(server: string): Promise<unknown>;
  /** The outcome of one; undefined if it has expired. */
  state(login: string): Promise<unknown>;
  /** Finishes one with the callback URL from the browser. */
  finish(login: string, url: string): Promise<unknown>;
  signOut(server: string, as: string): Promise<unknown>;
}

const NOUN = "a sign-in";
type Act = (own: LoginActions, named: (part: string) => string, body: JsonObject) => Promise<unknown>;

/** The id of a login is a secret, so it is sent in bodies, never in a path. */
const ACTIONS: readonly (AdminAction & { readonly ask: Act })[] = [
  {
    ...{ path: "logins/:server", noun: NOUN, isListed: true },
    ask: (own, named, body) =>
      own.begin(named("server"), stringAt(body, "as") ?? ANONYMOUS.id, {
        device: body.device === true,
        acceptsAudience: body.acceptsAudience === true,
      }),
  },
  {
    ...{ path: "logins/:server/accept-issuer", noun: NOUN },
    ask: (own, named) => own.acceptIssuer(named("server")),
  },
  {
    ...{ path: "logins/:server/:id/sign-out", noun: NOUN },
    ask: (own, named) => own.signOut(named("server"), named("id")),
  },
  {
    ...{ path: "sign-ins/state", noun: NOUN },
    ask: async (own, _, body) => own.state(textAt(body, "login")),
  },
  {
    ...{ path: "sign-ins/finish", noun: NOUN },
    ask: async (own, _, body) => own.finish(textAt(body, "login"), textAt(body, "url")),
  },
];

/** The vault is that of all workers, so each has the same page. */
export const ADMIN: FeatureAdmin = {
  pages: ["logins"],
  actions: ACTIONS.map(({ ask: _, ...action }) => action),
};

/** The actions, done by `own`. */
export const loginActions = (own: LoginActions): readonly OwnAdminAction[] =>
  ACTIONS.map(({ ask, ...action }) => ({
    ...action,
    act: async (named, body) => ((await ask(own, named, body)) ?? { state: "unknown" }) as object,
  }));

function textAt(body: JsonObject, name: string): string {
  const text = stringAt(body, name);
  if (text === undefined) throw badRequest(`the body needs "${name}"`);
  return text;
}
