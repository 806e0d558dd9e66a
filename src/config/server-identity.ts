/** What makes two servers the same one, across names and runs of the gateway. */
import { canonicalText } from "../wire/json-text.js";
import type { ServerConfig } from "./config.js";

/** The start parameters of a server, including secrets; other parameters may yield other lists. */
export const identityOf = ({ transport, protocol, lease, roots, auth }: ServerConfig): string =>
  canonicalText({ transport, protocol, lease, roots, ...(auth !== undefined && { auth: whoseLists(auth) }) });

/** The lists of one principal are not for another, also if they become per-principal later. */
const whoseLists = ({ as, hasPrincipals }: NonNullable<ServerConfig["auth"]>) => ({ as, hasPrincipals });
