/** The sign-ins of a gateway, by what they plug into it. */
import { join } from "node:path";
import { served } from "../../core/admin-page.js";
import type { CredentialStore, PersonSignIns } from "../../core/credentials.js";
import type { LayeredServer, OpenFeature, RunningGateway } from "../../core/feature.js";
import type { Logger } from "../../core/logger.js";
import { principalKey } from "../../core/principal.js";
import { LOGINS, loginActions } from "./admin-actions.js";
import { LiveSignIns } from "./live-sign-ins.js";
import { COUNTERS, countedIn, EXPIRING } from "./metrics.js";
import { type PromptSignInOptions, promptSignIn, signInError } from "./prompt-sign-in.js";

/** Nothing is read before the first page, action or call that needs a sign-in. */
export function openFeature(stateFolder: string, logger: Logger): OpenFeature {
  let attached: RunningGateway | undefined;
  const gateway = (): RunningGateway => {
    if (attached === undefined) throw new TypeError("there is no gateway yet");
    return attached;
  };
  const signIns = new LiveSignIns({
    ...{ gateway, logger },
    folder: join(stateFolder, "credentials"),
    counter: countedIn(gateway),
  });
  return {
    name: "sign-in",
    attach(running) {
      attached = running;
    },
    ...credentialsIn(signIns.credentials, signIns.connectUrlOf, signIns.persons),
    routes: (["connect", "callback", "client"] as const).map((page) => ({
      path: PATHS[page],
      asker: "browser",
      serve: (...exchange) => signIns.serve(page, ...exchange),
    })),
    pages: [served(LOGINS, () => signIns.logins())],
    actions: loginActions(signIns),
    readings: [{ gauge: EXPIRING, read: () => signIns.expiring }],
    counters: COUNTERS,
    stopping: () => signIns.close(),
    close: async () => {},
  };
}

/** What calls and connections need of credentials, and of the page `connectUrl` where a person gets them. */
export const credentialsIn = (
  store: CredentialStore,
  connectUrl: PromptSignInOptions["connectUrl"],
  persons?: PersonSignIns,
): Pick<OpenFeature, "credentials" | "serverLayers"> => ({
  credentials: {
    persons,
    of: (server, principal) => store.of(server, principal),
    watch: (server, listener) => store.watch(server, listener),
    ...(store.watchTokens !== undefined && {
      watchTokens: (listener) => store.watchTokens?.(listener) ?? (() => {}),
    }),
    offersSignIn: (server) => store.offersSignIn(server),
    refusal: (server, call) => signInError({ server, connectUrl }, call),
  },
  serverLayers: ({ name: server, credentialsOf }) =>
    credentialsOf === undefined
      ? {}
      : { person: promptSignIn({ server, store, connectUrl, credentialsOf: idOf(credentialsOf) }) },
});

const PATHS = {
  connect: "/oauth/connect/:name",
  callback: "/oauth/callback",
  client: "/oauth/client.json",
} as const;

/** The id of the credentials that calls of a client carry. */
const idOf =
  (owner: NonNullable<LayeredServer["credentialsOf"]>): PromptSignInOptions["credentialsOf"] =>
  ({ principal }) =>
    owner === "principal" ? principalKey(principal) : owner;
