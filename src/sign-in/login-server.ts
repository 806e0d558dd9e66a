/** Where does a person sign in for a server? At its own authorization server, or at the company's issuer (`auth.idp`). */
import type { Config } from "../config/config.js";
import { type SignInServer, signInServer } from "./sign-in-server.js";

/**
 * The server whose sign-in gives the tokens for `server`: itself, or the company's issuer, which is treated as a server of its
 * own. Its name is the URL of the issuer, which no server of the config can have.
 */
export function loginServerOf(server: SignInServer): SignInServer {
  const { as, hasPrincipals, idp, quirks, allowHosts } = server.auth;
  if (idp === undefined) return server;
  const { issuer, subjectToken: _, ...client } = idp;
  const { issuer: __, ...shared } = quirks;
  return {
    name: issuer,
    url: issuer,
    headers: {},
    isIssuer: true,
    // An issuer is no resource: its tokens are for the gateway.
    auth: {
      ...{ type: "oauth", as, hasPrincipals, issuer, allowHosts },
      ...client,
      quirks: { ...shared, noResource: true },
    },
  };
}

/** The server of this name, or the issuer of this URL, at which a person can sign in; undefined where there is none. */
export function loginNamed(config: Config, name: string): SignInServer | undefined {
  const own = signInServer(config, name);
  if (own !== undefined) return own;
  const dependent = dependentsOf(config, name)[0];
  return dependent === undefined ? undefined : loginServerOf(dependent);
}

/** The servers for which persons sign in at this issuer. */
export function dependentsOf(config: Config, issuer: string): readonly SignInServer[] {
  return config.servers.flatMap(({ name }) => {
    const server = signInServer(config, name);
    return server?.auth.idp?.issuer === issuer ? [server] : [];
  });
}
