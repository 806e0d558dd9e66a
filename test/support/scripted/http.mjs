/** Scripted servers over HTTP, in the process of the test: Streamable HTTP of both eras, and HTTP+SSE of 2024-11-05. */
import { serveHttp, serveSse } from "../server/http.mjs";
import { legacyServer } from "./legacy.mjs";
import { modernServer } from "./modern.mjs";
import { createWorld } from "./world.mjs";

const START = {
  legacy: (world, options) => serveHttp(legacyServer(world, options), { intercept: withoutSession }),
  sse: (world, options) => serveSse(legacyServer(world, options)),
  modern: (world) =>
    serveHttp(modernServer(world), {
      sessions: false,
      statusOf: ({ error }) => (error?.code === -32601 ? 404 : 200),
      intercept: withoutHeaders,
    }),
};

/**
 * @param {"legacy" | "sse" | "modern"} kind
 * @param {{ revision?: string }} options of a legacy server: the revision it answers with
 */
export async function startScripted(kind, options = {}) {
  const ledger = [];
  const world = createWorld((entry) => ledger.push(entry));
  const server = await START[kind](world, options);
  return {
    url: server.url,
    ledger: () => ledger,
    hangUp() {
      server.hangUp();
      for (const end of [...world.hangUps]) end();
      world.hangUps.clear();
    },
    stop: server.stop,
  };
}

/** Refuses what comes before `initialize`. */
function withoutSession(request, response, { method }) {
  const refused = method !== "initialize" && request.headers["mcp-session-id"] === undefined;
  if (refused) json(response, 404, { error: "no such session" });
  return refused;
}

function withoutHeaders(request, response, { id, method }) {
  const refused = id !== undefined && request.headers["mcp-method"] !== method;
  const error = { code: -32020, message: "the headers and the body disagree" };
  if (refused) json(response, 400, { jsonrpc: "2.0", id, error });
  return refused;
}

function json(response, status, body) {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}
