/** A company issuer that answers as a test wants: every wrong ID token, every outage. */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type CryptoKey, exportJWK, generateKeyPair, SignJWT } from "jose";
import { onTestFinished } from "vitest";

export interface HostileCompany {
  readonly issuer: string;
  /** Claims of the ID token beside, or instead of, the right ones; undefined takes one away. */
  claims: Readonly<Record<string, unknown>>;
  /** What the metadata say beside, or instead of, what is true. */
  metadata: Readonly<Record<string, unknown>>;
  /** What the token endpoint answers instead of tokens. */
  tokens: ((response: ServerResponse) => void) | undefined;
  /** What the user information says; undefined: it is refused with 403. */
  user: object | undefined;
  /** Signs with a key that is not in the JWKS. */
  signsSecretly: boolean;
  /** The answer of the login page for this authorization URL, without a person. */
  callback(url: string, more?: Readonly<Record<string, string | undefined>>): string;
  /** The `Authorization` and form of the last token request. */
  readonly asked: { authorization?: string | undefined; form?: URLSearchParams };
}

/** Listens until the test is over. */
export async function hostileCompany(): Promise<HostileCompany> {
  const good = await generateKeyPair("ES256", { extractable: true });
  const other = await generateKeyPair("ES256");
  const jwk = { ...(await exportJWK(good.publicKey)), kid: "k", alg: "ES256", use: "sig" };
  let nonce = "";
  const company: HostileCompany = {
    issuer: "",
    claims: {},
    metadata: {},
    tokens: undefined,
    user: undefined,
    signsSecretly: false,
    asked: {},
    callback(url, more = {}) {
      const asked = new URL(url).searchParams;
      nonce = asked.get("nonce") ?? "";
      const back = new URL(asked.get("redirect_uri") ?? "");
      const all = { code: "the code", state: asked.get("state") ?? "", ...more };
      for (const [name, value] of Object.entries(all))
        if (value !== undefined) back.searchParams.set(name, value);
      return back.href;
    },
  };
  const idToken = (key: CryptoKey): Promise<string> => {
    const now = Math.floor(Date.now() / 1000);
    const right = { iss: company.issuer, aud: "cardea", sub: "alice", nonce, iat: now, exp: now + 60 };
    const claims = Object.entries({ ...right, ...company.claims }).filter(([, value]) => value !== undefined);
    return new SignJWT(Object.fromEntries(claims)).setProtectedHeader({ alg: "ES256", kid: "k" }).sign(key);
  };
  const json = (response: ServerResponse, document: unknown, status = 200) =>
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(document));
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    if (request.url === "/.well-known/openid-configuration") {
      const endpoint = (name: string) => `${company.issuer}/${name}`;
      json(response, {
        issuer: company.issuer,
        authorization_endpoint: endpoint("auth"),
        token_endpoint: endpoint("token"),
        userinfo_endpoint: endpoint("me"),
        jwks_uri: endpoint("keys"),
        id_token_signing_alg_values_supported: ["ES256"],
        ...company.metadata,
      });
    } else if (request.url === "/keys") json(response, { keys: [jwk] });
    else if (request.url === "/me") {
      if (company.user === undefined) json(response, { error: "insufficient_scope" }, 403);
      else json(response, company.user);
    } else if (request.url === "/token") {
      company.asked.authorization = request.headers.authorization;
      company.asked.form = new URLSearchParams(Buffer.concat(chunks).toString());
      if (company.tokens !== undefined) company.tokens(response);
      else {
        const id_token = await idToken(company.signsSecretly ? other.privateKey : good.privateKey);
        json(response, { access_token: "a", token_type: "Bearer", expires_in: 60, id_token });
      }
    } else response.writeHead(404).end();
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  onTestFinished(() => {
    server.closeAllConnections();
    return new Promise<void>((closed) => server.close(() => closed()));
  });
  return Object.assign(company, { issuer: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
}
