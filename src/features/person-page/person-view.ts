/** What a person sees on the page: tools with what becomes of their calls, and sign-ins at servers. */
import type { AuthConfig } from "../../config/auth-config.js";
import { isMisconfigured } from "../../config/config.js";
import type { Client, Principal } from "../../core/client.js";
import type { RunningGateway } from "../../core/feature.js";
import { principalKey } from "../../core/principal.js";
import { type ShownTool, shownTools } from "../../gateway/views/shown-tools.js";
import { writeJson } from "../../wire/json-text.js";

/**
 * How the gateway knows who asks. `anyone`: it does not, and all hosts are the same; `signIn`: persons sign in at an issuer;
 * `credentials`: hosts send keys or tokens, which no browser has.
 */
export type WayOfKnowing = "anyone" | "signIn" | "credentials";

/** A server at which the person signs in. */
export interface SignInRow {
  readonly server: string;
  readonly isSignedIn: boolean;
}

/** What is shown to one person. */
export interface PersonView {
  /** By server in the order of the config; undefined while the person is not known. */
  readonly tools: readonly ShownTool[] | undefined;
  readonly signIns: readonly SignInRow[];
}

/** How long (ms) the page waits for lists; servers that take longer are missing on it. */
const LISTS_MS = 5_000;

export const knownBy = (auth: AuthConfig | undefined): WayOfKnowing => {
  if (auth === undefined) return "anyone";
  return auth.signIn === undefined ? "credentials" : "signIn";
};

/** What `principal` sees at an endpoint. Nothing of the servers where that person is not known. */
export async function personView(
  gateway: Pick<RunningGateway, "pipeline" | "credentials">,
  { principal, endpoint }: { readonly principal: Principal | undefined; readonly endpoint: string },
): Promise<PersonView> {
  if (principal === undefined) return { tools: undefined, signIns: [] };
  const client = browserClient(principal, endpoint);
  const tools = await shownTools(gateway.pipeline, client, AbortSignal.timeout(LISTS_MS));
  return { tools, signIns: await signInRows(gateway, client) };
}

/** The servers at which the person has signed in, or must. */
async function signInRows(
  { pipeline, credentials }: Pick<RunningGateway, "pipeline" | "credentials">,
  client: Client,
): Promise<readonly SignInRow[]> {
  const persons = credentials?.persons;
  if (persons === undefined) return [];
  const { config, catalog, servers } = pipeline();
  const rows: SignInRow[] = [];
  for (const server of config.servers) {
    if (isMisconfigured(server) || server.auth?.as !== "principal") continue;
    const { name } = server;
    if (!catalog.isServerVisible(client, name)) continue;
    const isSignedIn = await persons.isSignedIn(name, principalKey(client.principal));
    const isNeeded =
      catalog.wantsSignIn(client, name) || servers.get(name)?.upstream.state === "needs_sign_in";
    if (isSignedIn || isNeeded) rows.push({ server: name, isSignedIn });
  }
  return rows;
}

/** A host of the person that declares nothing. */
const browserClient = (principal: Principal, endpoint: string): Client => ({
  principal,
  affinity: `page ${writeJson([principalKey(principal), principal.groups, endpoint])}`,
  session: false,
  endpoint,
  capabilities: {},
});
