/**
 * `node bench/credentials.mjs`: what a call costs over a connection with credentials that may be renewed, beside one with a
 * fixed header, in alternating rounds of one run. Exits non-zero above 1 µs more.
 */
import { fork } from "node:child_process";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";

const ROUNDS = 40;
const CALLS = 1_500;
const MAX_MORE_US = 1;
/** Those of a session, one object for all its calls, as in the gateway. */
const HEADERS = { "mcp-session-id": "s", "mcp-protocol-version": "2025-11-25" };

if (process.argv[2] === "serve") serve();
else await measure();

/** An upstream in a process of its own, so that its time is not counted. */
function serve() {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, result: { content: [{ type: "text", text: "ok" }] } });
  const server = createServer((request, response) => {
    request.resume();
    request.on("end", () => response.writeHead(200, { "content-type": "application/json" }).end(body));
  });
  server.listen(0, "127.0.0.1", () => process.send(server.address().port));
}

async function measure() {
  const { build } = await import("../scripts/build.mjs");
  build();
  const { openHttpChannel } = await import("../build/upstream/transport/http.js");
  const upstream = fork(fileURLToPath(import.meta.url), ["serve"]);
  const port = await new Promise((resolve) => upstream.once("message", resolve));
  const url = `http://127.0.0.1:${port}/mcp`;
  const token = `Bearer ${"x".repeat(900)}`;
  const open = (more) =>
    openHttpChannel({ name: "bench", url, headers: {}, connectTimeoutMs: 5_000, ...more });
  const credentials = {
    areUsed: true,
    get header() {
      return token;
    },
    obtain: async () => token,
    onRejected: async () => token,
  };
  const channels = {
    "fixed header": open({ headers: { authorization: token } }),
    credentials: open({ credentials }),
  };
  const times = Object.fromEntries(Object.keys(channels).map((name) => [name, []]));
  const names = Object.keys(channels);
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const us = await usPerCall(channels[name]);
      if (round >= ROUNDS / 4) times[name].push(us);
    }
  }
  const [fixed, renewed] = names.map((name) => median(times[name]));
  const more = median(times.credentials.map((us, at) => us - times["fixed header"][at]));
  console.log(`fixed header: ${fixed.toFixed(2)} µs a call (processor time of the process)`);
  console.log(`credentials:  ${renewed.toFixed(2)} µs a call, ratio ${(renewed / fixed).toFixed(3)}`);
  console.log(`difference:   ${more.toFixed(2)} µs (median of ${times.credentials.length} rounds)`);
  for (const channel of Object.values(channels)) await channel.close();
  upstream.kill();
  if (more > MAX_MORE_US) process.exitCode = 1;
}

async function usPerCall(channel) {
  const request = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "echo", arguments: {} } };
  const before = process.cpuUsage();
  for (let call = 0; call < CALLS; call += 1) await channel.exchange(request, { headers: HEADERS });
  const { user, system } = process.cpuUsage(before);
  return (user + system) / CALLS;
}

function median(numbers) {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}
