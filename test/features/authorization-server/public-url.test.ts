/** The authorization server behind a proxy with TLS, at `listen.http.publicUrl`, and where there is none. */
import { type IncomingHttpHeaders, type OutgoingHttpHeaders, request } from "node:http";
import { describe, expect, onTestFinished, test } from "vitest";
import { gatewayOf } from "../../support/gateway.js";
import { hostileCompany } from "./hostile-company.js";
import { pkce, REDIRECT } from "./support.js";

describe("behind a proxy with TLS, at publicUrl", () => {
  const publicUrl = "https://mcp.example.com";

  /** What the proxy gets for a request of a browser, whose `Host` it passes on. */
  function get(at: number, path: string, headers: OutgoingHttpHeaders, body?: string) {
    return new Promise<{ status: number; headers: IncomingHttpHeaders; text: string }>((resolve, reject) => {
      const options = {
        host: "127.0.0.1",
        port: at,
        path,
        headers,
        method: body === undefined ? "GET" : "POST",
      };
      const sent = request(options, (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (piece: string) => {
          text += piece;
        });
        response.on("end", () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text }),
        );
      });
      sent.on("error", reject).end(body);
    });
  }

  async function started(): Promise<number> {
    const company = await hostileCompany();
    const gateway = await gatewayOf({
      listen: { http: { port: 0, publicUrl }, admin: { port: 0 } },
      auth: { signIn: { issuer: company.issuer, clientId: "cardea" } },
    });
    const { url: at } = await gateway.start();
    onTestFinished(() => gateway.stop({ immediate: true }));
    return Number(new URL(at).port);
  }

  test("all endpoints are at that URL, and the form has its origin", async () => {
    const at = await started();
    const host = "mcp.example.com";
    const refused = await get(at, "/mcp", { host }, "{}");
    expect(refused.headers["www-authenticate"]).toContain(
      `${publicUrl}/.well-known/oauth-protected-resource/mcp`,
    );
    const resource = await get(at, "/.well-known/oauth-protected-resource/mcp", { host });
    expect(JSON.parse(resource.text)).toMatchObject({
      resource: `${publicUrl}/mcp`,
      authorization_servers: [publicUrl],
    });
    const registered = await get(
      at,
      "/oauth/register",
      { host, "content-type": "application/json" },
      JSON.stringify({ redirect_uris: [REDIRECT] }),
    );
    const { client_id } = JSON.parse(registered.text) as { client_id: string };
    const query = new URLSearchParams({
      ...{ client_id, redirect_uri: REDIRECT, response_type: "code", resource: `${publicUrl}/mcp` },
      ...{ code_challenge: pkce().challenge, code_challenge_method: "S256" },
    });
    const page = await get(at, `/oauth/authorize?${query.toString()}`, { host });
    expect(page.text).toContain(`action="${publicUrl}/oauth/authorize"`);
    const [cookie = ""] = page.headers["set-cookie"] ?? [];
    expect(cookie).toMatch(/^__Host-.*; Secure$/);
    const decide = (origin: string) =>
      get(
        at,
        "/oauth/authorize",
        { host, origin, cookie: cookie.split(";")[0], "content-type": "application/x-www-form-urlencoded" },
        new URLSearchParams({
          request: /name="request" value="([^"]+)"/.exec(page.text)?.[1] ?? "",
          decision: "allow",
        }).toString(),
      );
    expect((await decide("https://evil.example")).status).toBe(403);
    const allowed = await decide(publicUrl);
    expect(allowed.status).toBe(303);
    expect(new URL(allowed.headers.location ?? "").searchParams.get("redirect_uri")).toBe(
      `${publicUrl}/oauth/authorize/callback`,
    );
  });

  test("no other Host reaches them (DNS rebinding)", async () => {
    const at = await started();
    for (const path of [
      "/oauth/authorize",
      "/oauth/token",
      "/oauth/jwks",
      "/.well-known/oauth-authorization-server",
    ])
      expect((await get(at, path, { host: "evil.example" })).status).toBe(403);
  });
});

test("without auth.signIn these paths do not exist", async () => {
  const gateway = await gatewayOf({});
  const { url: at } = await gateway.start();
  onTestFinished(() => gateway.stop({ immediate: true }));
  for (const path of [
    "oauth/authorize",
    "oauth/token",
    "oauth/jwks",
    ".well-known/oauth-authorization-server",
  ])
    expect((await fetch(new URL(`/${path}`, at))).status).toBe(404);
});
