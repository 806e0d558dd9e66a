/** An authorization server as the gateway sees one: metadata, public keys, and tokens signed as a test wants them. */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { onTestFinished } from "vitest";

export interface Issuer {
  /** Its identifier; tokens carry it as `iss`. */
  readonly url: string;
  /** The paths that were asked for, in order. */
  readonly asked: readonly string[];
  /** What it answers instead of serving, or undefined when it serves. */
  failing: ((response: ServerResponse) => void) | undefined;
  /** What the metadata says beside, or instead of, what is true. */
  metadata: Readonly<Record<string, unknown>>;
  /** A good token for `audience`, claims added or, with undefined, taken away. */
  token(claims?: Claims, how?: Signing): Promise<string>;
  /** From now on there is another key. */
  rotate(): Promise<void>;
  /** The public keys as it publishes them. */
  keys(): { readonly keys: readonly object[] };
}

export type Claims = Readonly<Record<string, unknown>>;

interface Signing {
  readonly kid?: string | undefined;
  /** Sign with a key that it does not publish. */
  readonly secretly?: boolean;
}

export const AUDIENCE = "https://mcp.example.com/mcp";

/** Listens until the test is over. */
export async function issuer(alg = "ES256"): Promise<Issuer> {
  const asked: string[] = [];
  let pair = await keyPair(alg, "key-1");
  let made = 1;
  const own: Issuer = {
    url: "",
    asked,
    failing: undefined,
    metadata: {},
    async token(claims = {}, { kid, secretly = false } = {}) {
      const now = Math.floor(Date.now() / 1000);
      const all = { iss: own.url, sub: "alice", aud: AUDIENCE, iat: now, exp: now + 600, ...claims };
      const given = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
      const { privateKey } = secretly ? await keyPair(alg, "secret") : pair;
      return new SignJWT(given).setProtectedHeader({ alg, kid: kid ?? pair.jwk.kid }).sign(privateKey);
    },
    async rotate() {
      made += 1;
      pair = await keyPair(alg, `key-${made}`);
    },
    keys: () => ({ keys: [pair.jwk] }),
  };
  const server = createServer((request, response) => {
    asked.push(request.url ?? "");
    const json = (document: unknown) =>
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(document));
    if (own.failing !== undefined) own.failing(response);
    else if (request.url === "/keys") json(own.keys());
    else if (request.url === "/.well-known/openid-configuration") {
      json({ issuer: own.url, jwks_uri: `${own.url}/keys`, ...own.metadata });
    } else response.writeHead(404).end();
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  onTestFinished(() => {
    server.closeAllConnections();
    return new Promise<void>((closed) => server.close(() => closed()));
  });
  return Object.assign(own, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
}

async function keyPair(alg: string, kid: string) {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
  return { privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: "sig" } };
}
