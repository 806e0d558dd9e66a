/**
 * Where a person signs in for a server: its own authorization server or the company's issuer (`auth.idp`); and where a
 * person with a token (`auth.signIn`) is identified.
 */
import type { AuthConfig } from "../../config/auth-config.js";
import type { Config } from "../../config/config.js";
import { networkTowards } from "../../outgoing/network.js";
import { type SignInServer, signInServer } from "./sign-in-server.js";

/**
 * The server whose sign-in yields the tokens for `server`: itself, or the company's issuer, which is treated as a
 * server. Its name is the issuer's URL, which no server of the config can have.
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
    network: networkTowards(issuer, server.url, server.network),
    // An issuer is not a protected resource: its tokens are for the gateway.
    auth: {
      ...{ type: "oauth", as, hasPrincipals, issuer, allowHosts },
      ...client,
      quirks: { ...shared, noResource: true },
    },
  };
}

/** A name that no server of the config can have: it contains an invisible character. */
const IDENTITY = "\u2060auth.signIn";

/**
 * The issuer of `auth.signIn`, with the gateway's client there, as a server where a person signs in. Its tokens are
 * checked and not stored. Undefined without an issuer, or if its persons could be confused with those of another issuer
 * (`auth.jwt`).
 */
export function identityServerOf(auth: AuthConfig | undefined): SignInServer | undefined {
  const { signIn, jwt } = auth ?? {};
  if (signIn === undefined || (jwt !== undefined && jwt.issuer !== signIn.issuer)) return undefined;
  const { issuer, clientId, clientSecret, allowHosts } = signIn;
  return {
    name: IDENTITY,
    url: issuer,
    headers: {},
    isIssuer: true,
    auth: {
      ...{ type: "oauth", as: "principal", hasPrincipals: true, scopes: ["openid"], issuer, allowHosts },
      clientId,
      ...(clientSecret !== undefined && { clientSecret }),
      // As for a host's sign-in: PKCE is used even if the issuer does not advertise it.
      quirks: { noResource: true, assumeS256: true },
    },
  };
}

/** The server of this name, or the issuer of this URL, where a person can sign in; undefined if there is none. */
export function loginNamed(config: Config, name: string): SignInServer | undefined {
  const own = signInServer(config, name);
  if (own !== undefined) return own;
  if (name === IDENTITY) return identityServerOf(config.auth);
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
