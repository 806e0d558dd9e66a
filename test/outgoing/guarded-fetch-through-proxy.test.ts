/** The fetch for URLs that a peer named, where a proxy resolves the names. */
import type { LookupAddress, lookup } from "node:dns";
import { describe, expect, test } from "vitest";
import { guardedFetch } from "../../src/outgoing/guarded-fetch.js";
import { connectProxy, proxyEnvironment } from "../support/connect-proxy.js";

type Found = (error: Error | null, found: LookupAddress[]) => void;

/** A resolver of this machine: the addresses of the name, or none, as in a network without names of the outside. */
const resolving = (...addresses: string[]) =>
  ((_host: string, _options: unknown, done: Found) =>
    addresses.length === 0
      ? done(Object.assign(new Error("getaddrinfo ENOTFOUND"), { code: "ENOTFOUND" }), [])
      : done(
          null,
          addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
        )) as unknown as typeof lookup;

const serverUrl = "https://mcp.example.com/mcp";

/** What the proxy was asked for, and why the fetch failed; the proxy refuses each tunnel. */
async function fetchThrough(url: string, resolve: typeof lookup, own: Readonly<Record<string, string>> = {}) {
  const proxy = await connectProxy(() => ({ status: 403 }));
  proxyEnvironment({ HTTPS_PROXY: proxy.url, ...own });
  const error: unknown = await guardedFetch({ serverUrl, resolve })(url).catch((thrown: unknown) => thrown);
  return { asked: proxy.asked, error };
}

describe("a URL that a peer named, behind a proxy", () => {
  test.each([
    ["https://10.0.0.8/token", "an address"],
    ["https://[fd00::1]/token", "an IPv6 address"],
    ["https://169.254.169.254/latest/meta-data", "the metadata of a cloud"],
    ["https://0x0a000008/token", "an address in another notation"],
    ["https://localhost/token", "this machine, or that of the proxy"],
    ["https://intranet/token", "a name without a dot"],
    ["https://db.internal/token", "a reserved domain"],
    ["https://printer.local./token", "a reserved domain"],
    ["https://app.localhost/token", "a reserved domain"],
  ])("is not asked of the proxy where its host is private by itself: %s (%s)", async (url) => {
    const { asked, error } = await fetchThrough(url, resolving());
    expect(error).toMatchObject({
      kind: "blocked",
      message: expect.stringContaining("is an address of this machine or of a private network"),
    });
    expect(asked).toEqual([]);
  });

  test("is not asked of the proxy where this machine resolves its name to a private address", async () => {
    for (const address of ["10.0.0.8", "127.0.0.1", "fd00::1"]) {
      const { asked, error } = await fetchThrough(
        "https://wiki.corp.example/",
        resolving("8.8.8.8", address),
      );
      expect(error).toMatchObject({ kind: "blocked" });
      expect(asked).toEqual([]);
    }
  });

  test("is asked of the proxy where the name is public, or not known here", async () => {
    for (const resolve of [resolving("8.8.8.8"), resolving()]) {
      const { asked, error } = await fetchThrough("https://as.example.com/token", resolve);
      expect(asked).toEqual(["as.example.com:443"]);
      expect(error).toMatchObject({
        kind: "unreachable",
        message: expect.stringMatching(
          /^https:\/\/as\.example\.com\/token: the proxy \S+ \(HTTPS_PROXY\) does not allow connections to as\.example\.com:443: it answered 403 Forbidden$/,
        ),
      });
    }
  });
});
