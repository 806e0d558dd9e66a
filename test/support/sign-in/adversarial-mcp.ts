/** The MCP server of `adversarial-server.ts`: of 2025-11-25, stateless, JSON answers, the tools `whoami` and `admin_only`. */
import type { ServerResponse } from "node:http";
import type { AdversarialServer, Seen } from "./adversarial-server.js";

const TOOLS = ["whoami", "admin_only"].map((name) => ({ name, inputSchema: { type: "object" } }));

interface Counting extends AdversarialServer {
  /** Is called for each tool that is run. */
  readonly called: () => void;
}

/** Answers an MCP request: 401 without a good token, 403 for `admin_only` without its scope. */
export function answerMcp(server: Counting, response: ServerResponse, { method, headers, body }: Seen) {
  const token = /^Bearer (.+)$/i.exec(headers.authorization ?? "")?.[1];
  const scope = token === undefined ? undefined : server.accessTokens.get(token);
  const challenge = (more: Readonly<Record<string, string>>): Record<string, string> => {
    if (server.challenge === undefined) return {};
    const parameters = Object.entries({ ...server.challenge, ...more });
    return {
      "www-authenticate": `Bearer ${parameters.map(([key, value]) => `${key}="${value}"`).join(", ")}`,
    };
  };
  if (scope === undefined) {
    const more: Record<string, string> = token === undefined ? {} : { error: "invalid_token" };
    return void response.writeHead(401, challenge(more)).end();
  }
  if (method !== "POST") return void response.writeHead(405).end();
  const {
    id,
    method: asked,
    params,
  } = JSON.parse(body) as {
    readonly id?: unknown;
    readonly method?: string;
    readonly params?: { readonly name?: string; readonly protocolVersion?: string };
  };
  if (id === undefined) return void response.writeHead(202).end();
  const send = (more: Readonly<Record<string, unknown>>): void =>
    void response
      .writeHead(200, { "content-type": "application/json" })
      .end(JSON.stringify({ jsonrpc: "2.0", id, ...more }));
  if (asked === "initialize") {
    return send({
      result: {
        protocolVersion: "2025-11-25",
        capabilities: { tools: {} },
        serverInfo: { name: "adversarial", version: "1" },
      },
    });
  }
  if (asked === "ping") return send({ result: {} });
  if (asked === "tools/list") return send({ result: { tools: TOOLS } });
  if (asked !== "tools/call") return send({ error: { code: -32601, message: "Method not found" } });
  if (params?.name === "admin_only" && !scope.split(" ").includes(server.adminScope)) {
    const more = { error: "insufficient_scope", scope: server.adminScope };
    return void response.writeHead(403, challenge(more)).end();
  }
  server.called();
  send({ result: { content: [{ type: "text", text: `${params?.name} with ${scope}` }] } });
}
