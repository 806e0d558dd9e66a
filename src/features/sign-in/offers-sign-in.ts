/** Does a server that refuses requests without a token say, by metadata of OAuth, that a person can sign in there? */
import { hasOAuthMetadata } from "./oauth/client.js";
import { fetchFor, type SignInServer } from "./sign-in-server.js";

/** Time (ms) for all of its metadata. */
const DEADLINE_MS = 10_000;

/** Whether `server` has such metadata; not, while that cannot be known. Never rejects. */
export const offersSignIn = async (server: SignInServer | undefined): Promise<boolean> =>
  server !== undefined && hasOAuthMetadata(server.url, fetchFor(server), AbortSignal.timeout(DEADLINE_MS));
