/** A person signs in at the console in a real Chromium: by the authorization server of the gateway, in front of a company's issuer. */
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { HAS_BROWSER, seriousFindings, startBrowser } from "../support/browser.js";
import { hasFeature } from "../support/features.js";
import { gatewayOf, listening } from "../support/gateway.js";
import { freePort } from "../support/told-port.js";

/** An OpenID Connect issuer that asks nothing: `person` is signed in. */
async function company() {
  const { publicKey, privateKey } = await generateKeyPair("ES256", { extractable: true });
  const key = { ...(await exportJWK(publicKey)), kid: "one", alg: "ES256", use: "sig" };
  const own = { url: "", person: { sub: "olaf", groups: ["platform"] }, nonce: "" };
  const documentAt = async (url: URL): Promise<object | undefined> => {
    switch (url.pathname) {
      case "/.well-known/openid-configuration":
        return {
          issuer: own.url,
          authorization_endpoint: `${own.url}/authorize`,
          token_endpoint: `${own.url}/token`,
          jwks_uri: `${own.url}/keys`,
          response_types_supported: ["code"],
          subject_types_supported: ["public"],
          id_token_signing_alg_values_supported: ["ES256"],
          code_challenge_methods_supported: ["S256"],
        };
      case "/keys":
        return { keys: [key] };
      case "/token": {
        const claims = { ...own.person, nonce: own.nonce };
        const idToken = await new SignJWT(claims)
          .setProtectedHeader({ alg: "ES256", kid: "one" })
          .setIssuer(own.url)
          .setAudience("cardea")
          .setIssuedAt()
          .setExpirationTime("5m")
          .sign(privateKey);
        return { access_token: "of-the-company", token_type: "Bearer", id_token: idToken };
      }
      default:
        return undefined;
    }
  };
  const server = createServer(async ({ url: path = "" }: IncomingMessage, response) => {
    const url = new URL(path, own.url);
    if (url.pathname === "/authorize") {
      own.nonce = url.searchParams.get("nonce") ?? "";
      const back = new URL(url.searchParams.get("redirect_uri") ?? "");
      back.searchParams.set("code", "a-code");
      back.searchParams.set("state", url.searchParams.get("state") ?? "");
      response.writeHead(302, { location: back.href }).end();
      return;
    }
    const document = await documentAt(url);
    response.writeHead(document === undefined ? 404 : 200, { "content-type": "application/json" });
    response.end(JSON.stringify(document ?? {}));
  });
  await new Promise<void>((bound) => server.listen(0, "127.0.0.1", bound));
  own.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return Object.assign(own, {
    close: () => {
      server.closeAllConnections();
      return new Promise<void>((closed) => server.close(() => closed()));
    },
  });
}

describe.runIf(HAS_BROWSER && hasFeature("authorization-server"))("a person at the console", () => {
  let issuer: Awaited<ReturnType<typeof company>>;
  let gateway: Awaited<ReturnType<typeof gatewayOf>>;
  let browser: Awaited<ReturnType<typeof startBrowser>>;
  let adminUrl = "";
  beforeAll(async () => {
    issuer = await company();
    const port = await freePort();
    gateway = await gatewayOf({
      listen: {
        http: { port },
        admin: { port: 0, access: { viewers: ["group:oncall"], operators: ["group:platform"] } },
      },
      auth: { signIn: { issuer: issuer.url, clientId: "cardea" } },
      mcpServers: { quiet: { command: process.execPath, args: ["-e", "process.stdin.resume()"] } },
    });
    ({ adminUrl } = await listening(gateway));
    browser = await startBrowser();
  });
  afterAll(async () => {
    await browser.close();
    await gateway.stop({ immediate: true });
    await issuer.close();
  });

  /** Opens the console in a browser of its own, and signs in. */
  async function signedIn(person: { readonly sub: string; readonly groups: string[] }) {
    issuer.person = person;
    const context = await browser.newContext({ viewport: { width: 1280, height: 850 }, locale: "en-GB" });
    const page = await context.newPage();
    const errors: string[] = [];
    page.on("pageerror", (error) => errors.push(error.message));
    await page.goto(`${adminUrl}/#/servers`);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("button", { name: "Allow" }).click();
    await page.waitForURL(`${adminUrl}/#/servers`);
    return { page, errors, close: () => context.close() };
  }

  test("of the operators comes back to the view, sees its name and acts; the page renews its token; signing out locks it", async () => {
    const { page, errors, close } = await signedIn({ sub: "olaf", groups: ["platform"] });
    await page.getByText("Signed in as olaf").waitFor();
    await page.getByText("quiet").first().waitFor();
    await page.getByRole("heading", { name: "Servers", level: 1 }).waitFor();
    expect(await page.evaluate(`fetch("/api/v1").then((answer) => answer.status)`)).toBe(401);
    // As one that has expired.
    const expired = `${Buffer.from('{"alg":"ES256"}').toString("base64url")}.e30.c2ln`;
    await page.evaluate(`sessionStorage.setItem("cardea-admin-token", "${expired}")`);
    const renewed = page.waitForResponse((answer) => answer.url().endsWith("/oauth/token") && answer.ok());
    await page.reload();
    await renewed;
    await page.getByText("Signed in as olaf").waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("heading", { name: "This gateway is locked" }).waitFor();
    expect(await page.evaluate("Object.keys(sessionStorage)")).toEqual([]);
    expect(errors).toEqual([]);
    await close();
  });

  test("of the viewers reads all, and has no button that acts", async () => {
    const { page, close } = await signedIn({ sub: "vera", groups: ["oncall"] });
    await page.getByText("Signed in as vera").waitFor();
    await page.goto(`${adminUrl}/#/servers/quiet`);
    await page.getByText("quiet").first().waitFor();
    expect(await page.getByRole("button", { name: /restart|retry|disable|end/i }).count()).toBe(0);
    await close();
  });

  test("of neither sees the approvals that wait for it alone, or why there is nothing to see", async () => {
    const { page, close } = await signedIn({ sub: "otto", groups: ["sales"] });
    if (hasFeature("policy")) {
      await page.getByText("Nothing waits for you.").waitFor();
      expect(await page.getByRole("navigation", { name: "Views" }).getByRole("link").allInnerTexts()).toEqual(
        ["Inbox"],
      );
    } else await page.getByText(/otto may not read this gateway/).waitFor();
    await close();
  });
});
