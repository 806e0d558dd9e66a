/** Fetches a small JSON document within limits of time and size, and of addresses (SSRF). */
import { Agent, request } from "undici";
import { isPublicHost, notPublic, publicLookup } from "./public-addresses.js";

/** Metadata or keys of an issuer are a few kB. */
const MAX_BYTES = 262_144;
const TIMEOUT_MS = 5_000;

/** Which addresses a URL may lead to: any for a URL of the config, only public ones for a URL from elsewhere. */
export type Reach = "anywhere" | "public";

/**
 * Returns the parsed document; redirects are not followed.
 *
 * @throws Error whose message is the URL and the reason
 */
export async function fetchJson(url: string, signal: AbortSignal, reach: Reach): Promise<unknown> {
  const { hostname } = new URL(url);
  if (reach === "public" && !isPublicHost(hostname))
    throw new Error(`${url}: ${notPublic(hostname).message}`);
  // Fetches are rare, so each has a connection of its own.
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
    // A destroyed body emits an error, which needs a listener.
    body.on("error", () => {}).destroy();
    throw new Error(`${url} answered ${statusCode}`);
  } catch (error) {
    const reason = error instanceof Error ? error.message : "it failed";
    throw reason.startsWith(url) ? error : new Error(`${url}: ${reason}`, { cause: error });
  } finally {
    await dispatcher.destroy();
  }
}
