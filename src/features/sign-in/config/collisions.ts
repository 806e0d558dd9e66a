/** Which servers cannot have their sign-ins beside each other? */
import type { Collision } from "../../../config/collisions.js";
import type { ServerConfig } from "../../../config/config.js";

/**
 * Servers that share a person's login at the company's issuer but use different clients there, and servers named like
 * such an issuer: the login is stored under its URL.
 */
export function loginCollisions(
  servers: readonly Pick<ServerConfig, "name" | "auth">[],
): readonly Collision[] {
  const owners = new Map<string, Pick<ServerConfig, "name" | "auth">>();
  const collisions: Collision[] = [];
  for (const server of servers) {
    const idp = server.auth?.idp;
    if (idp === undefined) continue;
    const owner = owners.get(idp.issuer);
    if (owner === undefined) owners.set(idp.issuer, server);
    else if (owner.auth?.idp?.clientId !== idp.clientId) {
      const [first, second] = [owner.name, server.name];
      const message = `servers ${JSON.stringify(first)} and ${JSON.stringify(second)} have one "auth.idp.issuer" and two "clientId"; a person signs in there once, as one client`;
      collisions.push({ first, second, message });
    }
  }
  for (const { name } of servers) {
    const owner = owners.get(name);
    if (owner === undefined) continue;
    const message = `server ${JSON.stringify(name)} is named like the "auth.idp.issuer" of ${JSON.stringify(owner.name)}, under which logins are kept; give it another name`;
    collisions.push({ first: owner.name, second: name, message });
  }
  return collisions;
}
