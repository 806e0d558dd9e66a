/** A real MCP server (SDK 2.4, both eras) that wants bearer tokens: for `real-issuer.mjs`. */
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, fromJsonSchema, McpServer } from "@modelcontextprotocol/server";
import { createLocalJWKSet, jwtVerify } from "jose";

/** Its tools: `whoami` says `SUB with SCOPES`; `admin_only` needs the scope `admin`, else 403 `insufficient_scope`. */
export function realMcp({ provider, issuer, mcpUrl, key, tokenFormat, epoch }) {
  const { d: _d, ...publicKey } = key;
  const keys = createLocalJWKSet({ keys: [publicKey] });
  const metadataUrl = `${issuer}/.well-known/oauth-protected-resource/mcp`;
  const calls = [];
  const tokens = new Set();
  /** Requests, by method and body, whose expired token was refused and that have not come again. */
  const refused = new Map();
  const countRefused = (key, by) => {
    const count = (refused.get(key) ?? 0) + by;
    if (count > 0) refused.set(key, count);
    else refused.delete(key);
  };

  function build({ authInfo }) {
    const server = new McpServer({ name: "real-mcp", version: "1.0.0" });
    const { sub } = authInfo.extra;
    for (const name of ["whoami", "admin_only"]) {
      server.registerTool(name, { inputSchema: fromJsonSchema({ type: "object" }) }, () => {
        calls.push({ tool: name, sub });
        return { content: [{ type: "text", text: `${sub} with ${authInfo.scopes.join(" ")}` }] };
      });
    }
    return server;
  }
  const handler = createMcpHandler(build, { legacy: "stateless" });
  const serve = toNodeHandler(handler);

  async function claimsOf(token) {
    if (tokenFormat === "opaque") {
      const found = await provider.AccessToken.find(token);
      const other = found ?? (await provider.ClientCredentials.find(token));
      if (other === undefined || ![other.aud].flat().includes(mcpUrl)) throw new Error("unknown token");
      return {
        ...other.extra,
        sub: other.accountId ?? other.clientId,
        scope: other.scope,
        client_id: other.clientId,
      };
    }
    return (await jwtVerify(token, keys, { issuer, audience: mcpUrl })).payload;
  }

  function refuse(response, status, more) {
    const parameters = { resource_metadata: metadataUrl, ...more };
    const text = Object.entries(parameters).map(([name, value]) => `${name}="${value}"`);
    response.writeHead(status, { "www-authenticate": `Bearer ${text.join(", ")}` }).end();
  }

  async function answer(request, response, pathname) {
    if (pathname !== "/mcp") {
      const document = {
        resource: mcpUrl,
        authorization_servers: [issuer],
        scopes_supported: ["read"],
        bearer_methods_supported: ["header"],
      };
      if (pathname !== "/.well-known/oauth-protected-resource/mcp") return response.writeHead(404).end();
      return response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(document));
    }
    const [, token] = /^Bearer (.+)$/i.exec(request.headers.authorization ?? "") ?? [];
    if (token !== undefined) tokens.add(token);
    if (token === undefined) return refuse(response, 401, {});
    let claims;
    try {
      claims = await claimsOf(token);
    } catch {
      return refuse(response, 401, { error: "invalid_token" });
    }
    const body = request.method === "POST" ? await readJson(request) : undefined;
    const sent = `${request.method} ${JSON.stringify(body)}`;
    if ((claims.epoch ?? epoch()) < epoch()) {
      countRefused(sent, 1);
      return refuse(response, 401, { error: "invalid_token" });
    }
    countRefused(sent, -1);
    const scopes = (claims.scope ?? "").split(" ").filter((scope) => scope !== "");
    if (body?.method === "tools/call" && body.params?.name === "admin_only" && !scopes.includes("admin")) {
      return refuse(response, 403, { error: "insufficient_scope", scope: "admin" });
    }
    request.auth = { token, clientId: claims.client_id, scopes, extra: { sub: claims.sub } };
    return serve(request, response, body);
  }

  return { calls, tokens, answer, hasRefused: () => refused.size > 0, close: () => handler.close() };
}

async function readJson(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return JSON.parse(Buffer.concat(chunks).toString());
}
