/** Forty servers in every state that a server may be in, and the alerts that each must raise. */
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { freePort } from "../../cluster/support/debian.mjs";
import { httpUpstream } from "../upstreams/http.mjs";
import { httpProcess, httpServer, stdioServer } from "./servers.mjs";

const HALF_FAILING = fileURLToPath(new URL("../../test/support/servers/half-failing.mjs", import.meta.url));
const { resolve } = createRequire(import.meta.url);

/** The program of an MCP server from npm. */
function npmServer(name, args, rest) {
  const folder = dirname(resolve(`@modelcontextprotocol/${name}/package.json`));
  return { command: process.execPath, args: [join(folder, "dist/index.js"), ...args], ...rest };
}

const DOWN = "CardeaServerDown";
const EAGER = { start: "eager" };

/**
 * @typedef {object} Case
 * @property {string} name of the server
 * @property {string} state what is the matter with it, for the table
 * @property {object} entry of `mcpServers`
 * @property {object} [fixed] the entry after the fix
 * @property {string[]} alerts that must fire for it, and no other may
 * @property {(round: number) => { tool: string, args?: object }} [call] of each round
 * @property {number} [every] called in every nth round only
 */

/**
 * @param {{ own: (thing: object) => object, folder: string }} row
 * @returns {Promise<{ cases: Case[], redeploy: { end(): Promise<void>, begin(): Promise<void> } }>}
 */
export async function fortyServers(row) {
  const cases = [];
  const add = (name, state, entry, alerts = [], more = {}) =>
    cases.push({ name, state, entry, alerts, ...more });
  const many = (count, name, ...rest) => {
    for (let at = 1; at <= count; at += 1) add(`${name}_${at}`, ...rest);
  };
  const echo = () => ({ tool: "echo", args: { text: "x" } });
  const onDemand = stdioServer([], { start: "demand", idleTimeout: "30s" });

  many(12, "idle", "on demand, at rest", onDemand);
  many(3, "used", "on demand, started and at rest again and again", onDemand, [], { call: echo, every: 8 });

  many(2, "ready", "connected", stdioServer([], EAGER), [], { call: echo });
  add("legacy", "connected", stdioServer(["--era", "legacy"], EAGER), [], { call: echo });
  const remote = row.own(await httpProcess());
  add("remote", "connected, over HTTP", httpServer(remote, EAGER), [], { call: echo });
  add("everything", "connected, from npm", npmServer("server-everything", [], EAGER), [], {
    call: () => ({ tool: "echo", args: { message: "x" } }),
  });
  add("files", "connected, from npm", npmServer("server-filesystem", [row.folder], EAGER), [], {
    call: () => ({ tool: "list_allowed_directories" }),
  });

  many(2, "dead", "ends at its start", stdioServer(["--at-start", "die"], EAGER), [DOWN]);
  add("dead_on_demand", "ends at its start, on demand", stdioServer(["--at-start", "die"]), [DOWN]);
  const hanging = stdioServer(["--at-start", "hang"], { ...EAGER, connectTimeout: "20s" });
  add("hanging", "says nothing at its start", hanging, [DOWN]);
  for (const at of [1, 2]) {
    const url = `http://127.0.0.1:${await freePort()}/mcp`;
    add(`unreachable_${at}`, "nothing listens at its URL", { type: "http", url, ...EAGER }, [DOWN]);
  }
  const wrong = stdioServer([], { env: { A_KEY: "${NOT_SET_BY_ANYBODY}" } });
  many(2, "misconfigured", "its entry names an unset variable", wrong, [DOWN]);
  add("fixed", "misconfigured, and right after a third of the time", wrong, [DOWN], { fixed: onDemand });

  const guarded = row.own(await startGuarded());
  many(3, "signed_out", "wants a sign-in", { type: "http", url: guarded.url }, []);

  const halfFailing = { command: process.execPath, args: [HALF_FAILING] };
  add("half_failing", "every second call is an error of its tool", halfFailing, [], {
    call: () => ({ tool: "work" }),
  });
  add(
    "timing_out",
    "every third call has no answer",
    stdioServer([], { timeout: "2s" }),
    ["CardeaCallsFail"],
    {
      call: (round) => (round % 3 === 0 ? { tool: "never" } : echo()),
    },
  );
  add("slow", "answers after 8 s", stdioServer(), ["CardeaCallsAreSlow"], {
    call: () => ({ tool: "slow", args: { ms: 8_000, text: "x" } }),
  });
  add("slow_once", "two answers take 8 s", stdioServer(), [], {
    call: (round) => (round === 10 || round === 16 ? { tool: "slow", args: { ms: 8_000 } } : echo()),
  });
  add("killed_once", "killed once", stdioServer([], EAGER), [], { call: echo });
  add(
    "crashing",
    "killed every two minutes",
    stdioServer([], EAGER),
    ["CardeaServerFlapping", "CardeaCallsFail"],
    {
      call: echo,
    },
  );

  const port = await freePort();
  let upstream;
  const redeploy = {
    begin: async () => {
      upstream = await httpUpstream({ port });
    },
    end: async () => {
      await upstream?.stop();
      upstream = undefined;
    },
  };
  await redeploy.begin();
  row.own({ stop: redeploy.end });
  add("redeployed", "away for two minutes", httpServer(upstream, EAGER), [], { call: echo });
  return { cases, redeploy };
}

/** An HTTP server that refuses each request without a token, and names an issuer. */
function startGuarded() {
  const server = createServer((request, response) => {
    const { origin } = self;
    const documents = {
      "/.well-known/oauth-protected-resource/mcp": {
        resource: `${origin}/mcp`,
        authorization_servers: [origin],
      },
      "/.well-known/oauth-authorization-server": {
        issuer: origin,
        authorization_endpoint: `${origin}/authorize`,
        token_endpoint: `${origin}/token`,
        registration_endpoint: `${origin}/register`,
        response_types_supported: ["code"],
        code_challenge_methods_supported: ["S256"],
      },
    };
    const document = documents[request.url];
    if (document !== undefined)
      return response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(document));
    const metadata = `${origin}/.well-known/oauth-protected-resource/mcp`;
    return response.writeHead(401, { "www-authenticate": `Bearer resource_metadata="${metadata}"` }).end();
  });
  const self = {
    origin: "",
    url: "",
    async stop() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
  return new Promise((done, reject) => {
    server.once("error", reject).listen(0, "127.0.0.1", () => {
      self.origin = `http://127.0.0.1:${server.address().port}`;
      self.url = `${self.origin}/mcp`;
      done(self);
    });
  });
}
