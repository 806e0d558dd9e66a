/** Under which URL does the person's browser, and so a host, reach the gateway? */
import type { IncomingMessage } from "node:http";
import type { Config } from "../../config/config.js";
import { resourceOfEndpoint } from "../../http/resources.js";

/** The origin as the browser has it, as far as the request shows; a proxy in front may have ended TLS. */
export function originOf({ headers }: Pick<IncomingMessage, "headers">): string {
  const scheme = headers["x-forwarded-proto"] === "https" ? "https" : "http";
  return `${scheme}://${headers.host ?? "localhost"}`;
}

/** The URL for hosts; of one endpoint, or with "" of the whole gateway. */
export function addressOf(
  request: Pick<IncomingMessage, "headers">,
  { auth, listen: { http } }: Pick<Config, "auth" | "listen">,
  endpoint: string,
): string {
  const own = auth?.resource ?? `${http.publicUrl ?? originOf(request)}${http.path}`;
  return resourceOfEndpoint(own, endpoint);
}
