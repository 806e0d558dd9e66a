/** What do sign-ins add to the admin API? A page, and actions to begin, poll, finish and end them. */
import { z } from "zod";
import { firstAnswer } from "../../core/admin-page.js";
import { ANONYMOUS } from "../../core/client.js";
import { badRequest } from "../../core/errors.js";
import type { AdminAction, FeatureAdmin, OwnAdminAction } from "../../core/feature.js";
import { page, typed } from "../../http/page-schema.js";
import { type JsonObject, stringAt } from "../../wire/json.js";
import type { LoginRow } from "./login-rows.js";

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

const described = (summary: string, body: z.ZodType, answer: z.ZodType) => ({
  ...{ summary, noun: NOUN },
  bodySchema: () => z.toJSONSchema(body),
  answerSchema: () => z.toJSONSchema(answer),
});
const text = z.string();
const LOGIN = z.looseObject({ login: text });

/** The id of a login is a secret, so it is sent in bodies, never in a path. */
const ACTIONS: readonly (AdminAction & { readonly ask: Act })[] = [
  {
    path: "logins/:server",
    ...described(
      "Begin a sign-in",
      z.object({
        as: text.optional(),
        device: z.boolean().optional(),
        acceptsAudience: z.boolean().optional(),
      }),
      LOGIN,
    ),
    isListed: true,
    ask: (own, named, body) =>
      own.begin(named("server"), stringAt(body, "as") ?? ANONYMOUS.id, {
        device: body.device === true,
        acceptsAudience: body.acceptsAudience === true,
      }),
  },
  {
    path: "logins/:server/accept-issuer",
    event: "accept_issuer",
    ...described(
      "Pin the issuer that a server names now",
      z.object({}),
      z.looseObject({ server: text, issuer: text, isChanged: z.boolean() }),
    ),
    ask: (own, named) => own.acceptIssuer(named("server")),
  },
  {
    path: "logins/:server/:id/sign-out",
    event: "sign_out",
    ...described("Sign a principal out", z.object({}), z.looseObject({ wasSignedIn: z.boolean() })),
    ask: (own, named) => own.signOut(named("server"), named("id")),
  },
  {
    path: "sign-ins/state",
    ...described("The outcome of a sign-in", z.object({ login: text }), z.looseObject({ state: text })),
    ask: async (own, _, body) => own.state(textAt(body, "login")),
  },
  {
    path: "sign-ins/finish",
    ...described("Finish a sign-in", z.object({ login: text, url: text }), z.looseObject({})),
    ask: async (own, _, body) => own.finish(textAt(body, "login"), textAt(body, "url")),
  },
];

/** The stored sign-ins. The vault is that of all workers, so each has the same page. */
export const LOGINS = page({
  path: "logins",
  summary: "Who is signed in at which server",
  schema: z.array(typed<LoginRow>(z.looseObject({ server: text, principal: text, state: text }))),
  merge: firstAnswer,
});

/** The page and the actions. */
export const ADMIN: FeatureAdmin = {
  pages: [LOGINS],
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
