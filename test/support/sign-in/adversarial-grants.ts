/** The authorization server of `adversarial-server.ts` where it behaves: registration, codes, tokens with rotation, devices. */
import { createHash, randomUUID } from "node:crypto";
import type { ServerResponse } from "node:http";
import type { AdversarialServer, Seen } from "./adversarial-server.js";

interface Code {
  readonly scope: string;
  readonly challenge: string | null;
  readonly redirectUri: string | null;
  readonly clientId: string | null;
  used: boolean;
}

/** What it keeps beside what the tests can see. */
interface Kept {
  readonly codes: Map<string, Code>;
  readonly devices: Map<string, { readonly userCode: string; readonly scope: string; approved: boolean }>;
}
const URN = "urn:ietf:params:oauth:grant-type:";
const KEPT = new WeakMap<AdversarialServer, Kept>();

const sha256 = (text: string): string => createHash("sha256").update(text).digest("base64url");

/** Answers the steps `register`, `authorize`, `token`, `device` and `revoke` of `server`. */
export function authorizationServer(server: AdversarialServer) {
  const kept = KEPT.get(server) ?? { codes: new Map(), devices: new Map() };
  KEPT.set(server, kept);
  const { codes, devices } = kept;

  const send = (response: ServerResponse, document: unknown, code = 200): void =>
    void response
      .writeHead(code, { "content-type": "application/json", "cache-control": "no-store" })
      .end(JSON.stringify(document));
  const refuse = (response: ServerResponse, error: string, code = 400): void =>
    send(response, { error }, code);

  function issue(response: ServerResponse, scope: string, isRefreshed = true): void {
    const access = `access-${randomUUID()}`;
    const refresh = `refresh-${randomUUID()}`;
    server.accessTokens.set(access, scope);
    if (isRefreshed) server.refreshTokens.set(refresh, { scope, spent: false });
    send(response, {
      access_token: access,
      token_type: "Bearer",
      expires_in: 3600,
      ...(isRefreshed && { refresh_token: refresh }),
      scope,
      ...server.tokenAnswer,
    });
  }

  function register(response: ServerResponse, { body }: Seen) {
    const id = `client-${randomUUID()}`;
    const metadata = JSON.parse(body) as Record<string, unknown>;
    server.clients.set(id, metadata);
    send(response, { ...metadata, client_id: id, client_id_issued_at: 1_700_000_000 }, 201);
  }

  function authorize(response: ServerResponse, { query }: Seen) {
    const redirectUri = query.get("redirect_uri");
    if (redirectUri === null) return void response.writeHead(400).end("no redirect_uri");
    const code = `code-${randomUUID()}`;
    codes.set(code, {
      scope: query.get("scope") ?? "",
      challenge: query.get("code_challenge"),
      redirectUri,
      clientId: query.get("client_id"),
      used: false,
    });
    const location = new URL(redirectUri);
    location.searchParams.set("code", code);
    if (query.has("state")) location.searchParams.set("state", query.get("state") ?? "");
    if (server.iss !== undefined) location.searchParams.set("iss", server.iss);
    response.writeHead(302, { location: location.href }).end();
  }

  function redeem(response: ServerResponse, form: URLSearchParams) {
    const code = codes.get(form.get("code") ?? "");
    if (code === undefined || code.used) return refuse(response, "invalid_grant");
    code.used = true;
    const isProven = code.challenge === null || code.challenge === sha256(form.get("code_verifier") ?? "");
    if (!isProven || code.redirectUri !== form.get("redirect_uri")) return refuse(response, "invalid_grant");
    issue(response, code.scope);
  }

  /** A spent refresh token ends the family, as at `oidc-provider`. */
  function refresh(response: ServerResponse, form: URLSearchParams) {
    const token = server.refreshTokens.get(form.get("refresh_token") ?? "");
    if (token === undefined) return refuse(response, "invalid_grant");
    if (token.spent) {
      server.refreshTokens.clear();
      server.accessTokens.clear();
      return refuse(response, "invalid_grant");
    }
    token.spent = true;
    issue(response, form.get("scope") ?? token.scope);
  }

  function token(response: ServerResponse, { form, headers }: Seen) {
    const id = form.get("client_id") ?? "";
    const isDynamic = id.startsWith("client-") && headers.authorization === undefined;
    if (isDynamic && !server.clients.has(id)) return refuse(response, "invalid_client", 401);
    const scope = form.get("scope") ?? "";
    const grant = form.get("grant_type") ?? "";
    if (grant === "authorization_code") return redeem(response, form);
    if (grant === "refresh_token") return refresh(response, form);
    if (grant === "client_credentials" || grant === `${URN}jwt-bearer`) return issue(response, scope, false);
    if (grant === `${URN}device_code`) {
      const device = devices.get(form.get("device_code") ?? "");
      if (device === undefined) return refuse(response, "invalid_grant");
      return device.approved ? issue(response, device.scope) : refuse(response, "authorization_pending");
    }
    if (grant !== `${URN}token-exchange`) return refuse(response, "unsupported_grant_type");
    send(response, {
      access_token: `exchanged-${randomUUID()}`,
      issued_token_type: form.get("requested_token_type") ?? "urn:ietf:params:oauth:token-type:access_token",
      token_type: "N_A",
      expires_in: 300,
      ...server.tokenAnswer,
    });
  }

  function device(response: ServerResponse, { form }: Seen): void {
    const code = `device-${randomUUID()}`;
    const userCode = randomUUID().slice(0, 8).toUpperCase();
    devices.set(code, { userCode, scope: form.get("scope") ?? "", approved: false });
    send(response, {
      device_code: code,
      user_code: userCode,
      verification_uri: `${server.issuer}/activate`,
      verification_uri_complete: `${server.issuer}/activate?user_code=${userCode}`,
      expires_in: 600,
      interval: 1,
    });
  }

  function revoke(response: ServerResponse, { form }: Seen): void {
    const token = form.get("token") ?? "";
    server.accessTokens.delete(token);
    server.refreshTokens.delete(token);
    response.writeHead(200).end();
  }

  return {
    approve(userCode: string): void {
      for (const device of devices.values()) if (device.userCode === userCode) device.approved = true;
    },
    answer(response: ServerResponse, seen: Seen) {
      if (seen.step === "register") return register(response, seen);
      if (seen.step === "authorize") return authorize(response, seen);
      if (seen.step === "token") return token(response, seen);
      if (seen.step === "device") return device(response, seen);
      return revoke(response, seen);
    },
  };
}
