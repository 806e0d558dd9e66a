/** Persons who are signed in with their browser, for pages of the gateway itself. Hosts are never known by them. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Principal } from "./client.js";

/** The sessions of browsers. */
export interface PersonSessions {
  /** The issuer where persons sign in; undefined while the config names none. */
  issuer(): string | undefined;
  /** Whether each process behind the URL of the gateway knows them; replicas that share no records may not. */
  isShared(): boolean;
  /** The person whose browser has sent the request, as a token of a host would name it now; undefined without a session. */
  of(request: IncomingMessage): Promise<Principal | undefined>;
  /**
   * Sends the browser to the issuer; after the sign-in it comes back to `path` of the gateway, with a session. The caller has
   * checked that a page of the gateway has sent the request. A refusal of the issuer is answered with a page.
   */
  begin(request: IncomingMessage, response: ServerResponse, path: string): Promise<void>;
  /** Ends the session of the browser; the response takes its cookie. */
  end(request: IncomingMessage, response: ServerResponse): Promise<void>;
}
