/** The resource of each URL that hosts use: its metadata (RFC 9728, 3.3), its challenge, and the tokens that are good there. */
import { describe, expect, test } from "vitest";
import { modernRequest, send } from "../../support/http-host.js";
import { AUDIENCE, type Issuer, issuer } from "../../support/issuer.js";
import { listening } from "../../support/listening.js";
import { authenticationOf, jwtConfig, keyConfig } from "./support.js";

const METADATA = "/.well-known/oauth-protected-resource";

async function gateway(more: object = {}) {
  const from = await issuer();
  const auth = { jwt: jwtConfig(from.url, more), requiredScopes: ["mcp"] };
  const authentication = authenticationOf({ ...auth, keys: [keyConfig("ci", "a-key")] });
  return { from, ...(await listening({ authentication })) };
}

/** The places of URLs below `/mcp`, as hosts write them. */
const PLACES = ["", "/", "/files", "/files/", "/my%20profile", "/a:b", "/it's", "/%C3%BC", "/nobody", "/a@b"];

describe("the metadata of the resource", () => {
  test.each(PLACES)("for the URL /mcp%s name that URL, and the 401 there leads to them", async (place) => {
    const { origin, url } = await gateway();
    const { status, headers } = await send(`${url}${place}`, { method: "POST" });
    const [, metadataUrl = ""] = /resource_metadata="([^"]+)"/.exec(headers["www-authenticate"] ?? "") ?? [];
    expect([status, metadataUrl]).toEqual([401, `https://mcp.example.com${METADATA}/mcp${place}`]);
    const answer = await send(`${origin}${new URL(metadataUrl).pathname}`, { method: "GET" });
    expect(answer.json()).toMatchObject({ resource: `${AUDIENCE}${place}` });
  });

  test.each(["/mcp//", "/mcp/a/b", "/mcpx", "/other", `/mcp/${"x".repeat(201)}`])(
    "is not there for %s, which is no URL of an endpoint",
    async (path) => {
      const { origin } = await gateway();
      const answer = await send(`${origin}${METADATA}${path}`, { method: "GET" });
      expect(answer.status).toBe(404);
    },
  );

  test("of a path that is no endpoint's lead to the whole gateway", async () => {
    const { origin } = await gateway();
    for (const path of ["/other", "/mcp/a/b", "/mcp//", `/mcp/${"x".repeat(201)}`]) {
      const { headers } = await send(`${origin}${path}`, { method: "POST" });
      expect(headers["www-authenticate"]).toContain(
        `resource_metadata="https://mcp.example.com${METADATA}/mcp"`,
      );
    }
  });
});

/** Whether the credentials are good at `url`, whatever is there. */
const isLetIn = async (url: string, headers: Record<string, string>): Promise<boolean> =>
  (await send(url, modernRequest("tools/list", {}, { headers }))).status !== 401;

describe("a token", () => {
  const call = async (url: string, from: Issuer, aud: unknown) => {
    const headers = { authorization: `Bearer ${await from.token({ scope: "mcp", aud })}` };
    return isLetIn(url, headers);
  };

  test.each([AUDIENCE, `${AUDIENCE}/`, [`${AUDIENCE}/files`, AUDIENCE], ["https://other.example", AUDIENCE]])(
    "for the whole gateway (%j) is good at every endpoint",
    async (aud) => {
      const { from, url } = await gateway();
      for (const place of ["", "/", "/files", "/files/"])
        expect([place, await call(`${url}${place}`, from, aud)]).toEqual([place, true]);
    },
  );

  test.each([
    [`${AUDIENCE}/files`],
    [`${AUDIENCE}/files/`],
    [`${AUDIENCE}/%66iles`],
    [["https://other.example", `${AUDIENCE}/files`]],
  ])("for one endpoint (%j) is good there, and nowhere else", async (aud) => {
    const { from, url, origin } = await gateway();
    const headers = { authorization: `Bearer ${await from.token({ scope: "mcp", aud })}` };
    const at = (path: string) => isLetIn(`${origin}${path}`, headers);
    for (const path of ["/mcp/files", "/mcp/files/", "/mcp/%66iles", "/mcp/files?x=1"])
      expect([path, await at(path)]).toEqual([path, true]);
    // Also once the token is in the cache.
    for (const path of [
      "/mcp",
      "/mcp/",
      "/mcp/other",
      "/mcp/filesx",
      "/mcp/Files",
      "/",
      "/sse",
      "/mcp/files/x",
    ])
      expect([path, await at(path)]).toEqual([path, false]);
    expect(await at("/mcp/files")).toBe(true);
    expect(url).toBe(`${origin}/mcp`);
  });

  test("for one endpoint is refused elsewhere before it was ever accepted, with the reason", async () => {
    const { from, url } = await gateway();
    const headers = {
      authorization: `Bearer ${await from.token({ scope: "mcp", aud: `${AUDIENCE}/files` })}`,
    };
    const answer = await send(url, modernRequest("tools/list", {}, { headers }));
    expect(answer.status).toBe(401);
    expect(answer.headers["www-authenticate"]).toContain("meant for another endpoint of this gateway");
  });

  test.each([
    ...[
      "https://mcp.example.com",
      "https://mcp.example.com/",
      "https://mcp.example.com/mcpx",
      `${AUDIENCE}//`,
    ],
    ...[`${AUDIENCE}/a/b`, `${AUDIENCE}/files?x`, `${AUDIENCE}/files#x`, `http://mcp.example.com/mcp`],
    ...["https://mcp.example.com@evil.example/mcp", "https://u@mcp.example.com/mcp", `${AUDIENCE}/%E0`],
    ...["https://mcp.example.com/mcp/../other", "https://evil.example/mcp/files", "files", "", 7, [], {}],
  ])("for %j is refused", async (aud) => {
    const { from, url } = await gateway();
    for (const place of ["", "/files"]) expect(await call(`${url}${place}`, from, aud)).toBe(false);
  });

  test("with another configured audience is good everywhere, and those for endpoints are not", async () => {
    const { from, url } = await gateway({ audience: ["api://cardea"] });
    expect(await call(`${url}/files`, from, "api://cardea")).toBe(true);
    expect(await call(url, from, "api://cardea")).toBe(true);
    expect(await call(`${url}/files`, from, `${AUDIENCE}/files`)).toBe(false);
  });

  test("keys are good at every endpoint", async () => {
    const { url } = await gateway();
    const headers = { authorization: "Bearer a-key" };
    for (const place of ["", "/", "/files"]) expect(await isLetIn(`${url}${place}`, headers)).toBe(true);
  });
});
