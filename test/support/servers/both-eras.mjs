#!/usr/bin/env node
/**
 * A server of the TypeScript SDK 2.4 as its users write one: a single set of tools for hosts of both eras.
 *
 *   node both-eras.mjs stdio|sessions|stateless
 *
 * `sessions` and `stateless` are over HTTP, on a free port that the line `ready URL` on stderr names; they differ in how
 * `initialize` is served. It ends when its stdin does.
 */
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { NodeStreamableHTTPServerTransport, toNodeHandler } from "@modelcontextprotocol/node";
import {
  classifyInboundRequest,
  createMcpHandler,
  fromJsonSchema,
  inputRequired,
  McpServer,
} from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";

const [way = "stdio"] = process.argv.slice(2);
const NAME = {
  type: "object",
  properties: { name: { type: "string", default: "nobody" } },
  required: ["name"],
};
const say = (text) => ({ content: [{ type: "text", text }] });
const greet = ({ action, content }) => say(action === "accept" ? `Hello, ${content?.name}.` : action);

function build(era) {
  const mcp = new McpServer({ name: "both-eras", version: "1.0.0" }, { capabilities: { logging: {} } });
  const tool = (name, run) =>
    mcp.registerTool(name, { inputSchema: fromJsonSchema({ type: "object" }) }, (_args, ctx) => run(ctx));
  tool("era", () => say(`${era} in process ${process.pid}`));
  // The newer era has no such request.
  tool("ask_while_running", async (ctx) =>
    greet(await ctx.mcpReq.elicitInput({ message: "Who are you?", requestedSchema: NAME })),
  );
  tool("think_while_running", async (ctx) => {
    const messages = [{ role: "user", content: { type: "text", text: "why?" } }];
    const { content } = await ctx.mcpReq.requestSampling({ messages, maxTokens: 10 });
    return say(content.text);
  });
  tool("ask_in_the_answer", async (ctx) => {
    const answer = ctx.mcpReq.inputResponses?.who;
    if (answer !== undefined) return greet(answer);
    const params = { message: "Who are you?", requestedSchema: NAME };
    return inputRequired({ inputRequests: { who: { method: "elicitation/create", params } } });
  });
  return mcp;
}

if (way === "stdio") serveStdio(({ era }) => build(era), { legacy: "serve" });
else await serveHttp();

async function serveHttp() {
  const sessions = new Map();
  const handler = toNodeHandler(
    createMcpHandler(({ era }) => build(era), { legacy: way === "stateless" ? "stateless" : "reject" }),
  );
  const server = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = chunks.length > 0 ? JSON.parse(Buffer.concat(chunks).toString()) : undefined;
    const { kind } = classifyInboundRequest({
      httpMethod: request.method,
      protocolVersionHeader: request.headers["mcp-protocol-version"],
      mcpMethodHeader: request.headers["mcp-method"],
      body,
    });
    if (way === "stateless" || kind !== "legacy") return handler(request, response, body);
    const known = sessions.get(request.headers["mcp-session-id"]);
    if (known !== undefined) return known.handleRequest(request, response, body);
    const transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void sessions.set(id, transport),
    });
    await build("legacy").connect(transport);
    return transport.handleRequest(request, response, body);
  });
  server.listen(0, "127.0.0.1", () => console.error(`ready http://127.0.0.1:${server.address().port}/mcp`));
  process.stdin.resume().once("end", () => process.exit(0));
}
