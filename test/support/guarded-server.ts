/** An MCP server behind a login: a token of the form `token-of-NAME` identifies NAME, with tools of its own. */
import type { ServerResponse } from "node:http";
import { onTestFinished } from "vitest";
import { MODERN_REVISION } from "../../src/wire/names.js";
import { type Asked, answer, json, type ScriptedServer, scriptedServer } from "./servers/scripted-http.js";

export interface GuardedServer extends ScriptedServer {
  /** Who called what, in order: `alice whoami`. */
  readonly ran: readonly string[];
  /** From now on tokens of these persons are refused, with this challenge. */
  readonly refused: Set<string>;
}

export interface GuardedOptions {
  readonly era: "legacy" | "modern";
  /** What a request without a token may do: nothing, or all but call tools. Default: nothing. */
  readonly open?: "nothing" | "lists";
  /** The ttlMs that results of `whoami` claim for all principals. */
  readonly ttlMs?: number;
}

interface CallParams {
  readonly name?: string;
  readonly arguments?: { readonly ask?: unknown };
  readonly inputResponses?: unknown;
}

/** What a modern server asks first in a call with the argument `ask: true`. */
const QUESTION = {
  inputRequests: {
    sure: {
      method: "elicitation/create",
      params: { message: "sure?", requestedSchema: { type: "object", properties: {} } },
    },
  },
  requestState: "asked",
};

const TOOL = { inputSchema: { type: "object" }, annotations: { readOnlyHint: true } };

/** Closed when the test is over. */
export async function guardedServer({
  era,
  open = "nothing",
  ttlMs,
}: GuardedOptions): Promise<GuardedServer> {
  const ran: string[] = [];
  const refused = new Set<string>();
  const cacheHints = era === "modern" && ttlMs !== undefined ? { ttlMs, cacheScope: "public" } : {};

  const respond = (asked: Asked, response: ServerResponse): void => {
    const [, name] = /^Bearer token-of-(\w+)$/.exec(asked.headers.authorization ?? "") ?? [];
    const who = name !== undefined && !refused.has(name) ? name : undefined;
    const { method = "", params = {} } =
      asked.body === "" ? {} : (JSON.parse(asked.body) as { method?: string; params?: CallParams });
    const isOpen = open === "lists" && method !== "tools/call";
    if (who === undefined && !isOpen) {
      const challenge = `Bearer resource_metadata="https://as.example/.well-known/oauth-protected-resource"`;
      response.writeHead(401, { "www-authenticate": challenge }).end();
      return;
    }
    if (asked.method !== "POST") {
      response.writeHead(asked.method === "DELETE" ? 200 : 405).end();
      return;
    }
    if (asked.id === undefined) {
      response.writeHead(202).end();
      return;
    }
    const complete = era === "modern" ? { resultType: "complete" } : {};
    const meta = { "io.modelcontextprotocol/serverInfo": { name: "guarded", version: "1" } };
    switch (method) {
      case "server/discover":
        if (era === "legacy") break;
        answer(asked, response, {
          ...complete,
          supportedVersions: [MODERN_REVISION],
          capabilities: { tools: {} },
          instructions: `You are ${who ?? "a stranger"}.`,
          _meta: meta,
        });
        return;
      case "initialize":
        if (era === "modern") break;
        json(
          response,
          {
            jsonrpc: "2.0",
            id: asked.id,
            result: {
              protocolVersion: "2025-11-25",
              capabilities: { tools: {} },
              serverInfo: { name: "guarded", version: "1" },
              instructions: `You are ${who ?? "a stranger"}.`,
            },
          },
          200,
          { "mcp-session-id": `session-${who ?? "of-a-stranger"}` },
        );
        return;
      case "tools/list":
        answer(asked, response, {
          ...complete,
          ...(era === "modern" && { ttlMs: 60_000, cacheScope: "public" }),
          tools: [
            { name: "whoami", ...TOOL },
            ...(who === undefined ? [] : [{ name: `only_${who}`, ...TOOL }]),
          ],
        });
        return;
      case "tools/call":
        if (era === "modern" && params.arguments?.ask === true && params.inputResponses === undefined) {
          answer(asked, response, { resultType: "input_required", ...QUESTION });
          return;
        }
        ran.push(`${who} ${params.name}`);
        answer(asked, response, {
          ...complete,
          ...cacheHints,
          content: [{ type: "text", text: `you are ${who}` }],
        });
        return;
    }
    json(
      response,
      { jsonrpc: "2.0", id: asked.id, error: { code: -32601, message: `unknown: ${method}` } },
      era === "modern" ? 404 : 200,
    );
  };
  const server = await scriptedServer(respond);
  onTestFinished(() => server.close());
  return Object.assign(Object.create(server) as ScriptedServer, { ran, refused });
}
