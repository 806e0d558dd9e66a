/** Fetches a small JSON document, within limits of time and size. */
import { isPublicHost, notPublic, publicLookup } from "./public-addresses.js";

/** An issuer's metadata or keys are a few kB. */
const MAX_BYTES = 262_144;
const TIMEOUT_MS = 5_000;

/** Where a URL may lead: anywhere if the config names it, and to public addresses if it comes from elsewhere. */
export type Reach = "anywhere" | "public";

/**
 * Redirects are not followed.
 *
 * @throws Error saying in a plain sentence why there is none
 */
export async function fetchJson(url: string, signal: AbortSignal, reach: Reach): Promise<unknown> {
  const { hostname } = new URL(url);
  if (reach === "public" && !isPublicHost(hostname))
    throw new Error(`${url}: ${notPublic(hostname).message}`);
  // Most gateways never fetch anything, and all of undici takes 8 MiB more than what a call needs of it.
  const { Agent, request } = await import("undici");
  // So rarely is something fetched that a connection of its own, which ends with it, costs nothing.
  const dispatcher = new Agent({
    connect: { timeout: TIMEOUT_MS, ...(reach === "public" && { lookup: publicLookup() }) },
    headersTimeout: TIMEOUT_MS,
    bodyTimeout: TIMEOUT_MS,
    maxResponseSize: MAX_BYTES,
  });
  try {
    const { statusCode, body } = await request(url, {
      dispatcher,
      signal,
      headers: { accept: "application/json" },
    });
    if (statusCode === 200) return await body.json();
    // What is given up ends with an error, which must have a listener.
    body.on("error", () => {}).destroy();
    throw new Error(`${url} answered ${statusCode}`);
  } catch (error) {
    const reason = error instanceof Error ? error.message : "it failed";
    throw reason.startsWith(url) ? error : new Error(`${url}: ${reason}`, { cause: error });
  } finally {
    await dispatcher.destroy();
  }
}
