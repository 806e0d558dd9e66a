/** Who is calling: the credentials of an HTTP request become a principal. */
import type { IncomingMessage } from "node:http";
import { ANONYMOUS, type Principal } from "../core/client.js";

/**
 * Reads the credentials of one request; called before its body is read. It sees headers and socket, and must
 * not touch the body.
 *
 * @throws GatewayError `unauthenticated` or `forbidden`
 */
export type Authenticate = (request: IncomingMessage) => Principal | Promise<Principal>;

/** No authentication is configured: everybody is the same principal. For loopback only. */
export const everybodyIsAnonymous: Authenticate = () => ANONYMOUS;
