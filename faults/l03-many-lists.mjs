/** L3: a thousand tools of fifty servers, listed over and over; and listed for the first time. */
import { request } from "node:http";
import { newAgent, openHost } from "../test/support/host/host.mjs";
import { startGateway } from "./support/gateway.mjs";
import { cpuMs } from "./support/processes.mjs";
import { ms, quantile, row, until } from "./support/row.mjs";
import { httpServer } from "./support/servers.mjs";
import { httpUpstream } from "./upstreams/http.mjs";

const SERVERS = 50;
const TOOLS = 20;
/** What each server has by itself. */
const OWN = 12;
/** Tools, prompts, resources and their templates. */
const KINDS = 4;
const SLOWEST_MS = 700;
/** How long a first list waits for the server that hangs. */
const STARTUP_WAIT_MS = 2_000;

await row("L3", "50 servers with 20 tools each: tools/list of all of them", async (row) => {
  const tools = Array.from({ length: TOOLS - OWN }, (_, n) => ({
    name: `tool_${n}`,
    description: `The tool number ${n}, which does what tools do.`,
    inputSchema: { type: "object", properties: { text: { type: "string" } } },
  }));
  const upstreams = [];
  for (let n = 0; n < SERVERS; n += 1)
    upstreams.push(row.own(await httpUpstream({ era: n % 2 === 0 ? "modern" : "legacy", tools })));
  const slow = (server, delay) => {
    server.intercept = async (_request, _response, { method }) => {
      if (method === "tools/list") await new Promise((resolve) => setTimeout(resolve, delay));
      return false;
    };
  };
  slow(upstreams[7], SLOWEST_MS);
  const mcpServers = Object.fromEntries(upstreams.map((upstream, n) => [`s${n}`, httpServer(upstream)]));

  // For the first time: as long as the slowest server takes, and a second.
  const gateway = row.own(await startGateway({ mcpServers }));
  const begun = performance.now();
  const host = await openHost(gateway.url, "modern");
  await until("all tools", async () => (await host.list("tools")).length === SERVERS * TOOLS, 10_000, 5);
  const cold = performance.now() - begun;
  row.timing(
    "the first complete list after the ready line",
    `<= ${SLOWEST_MS} ms + 1 s`,
    ms(cold),
    cold <= SLOWEST_MS + 1_000,
  );

  // Repeatedly, from a prepared text, without any request to a server.
  const asked = () => upstreams.reduce((sum, upstream) => sum + upstream.requests, 0);
  const before = asked();
  const counting = performance.now();
  const count = row.quick ? 1_500 : 5_000;
  const agent = newAgent();
  agent.maxSockets = 16;
  const body = JSON.stringify(host.message(1, "tools/list"));
  const one = () =>
    new Promise((resolve, reject) => {
      const sent = performance.now();
      const headers = { ...host.headersOf("tools/list"), "content-length": Buffer.byteLength(body) };
      const asking = request(gateway.url, { method: "POST", agent, headers }, (response) => {
        let bytes = 0;
        response.on("data", (chunk) => {
          bytes += chunk.length;
        });
        response.on("end", () => resolve({ bytes, ms: performance.now() - sent }));
      });
      asking.on("error", reject);
      asking.end(body);
    });
  const { bytes } = await one();
  for (let n = 0; n < 200; n += 1) await one();
  const alone = [];
  for (let n = 0; n < 300; n += 1) alone.push((await one()).ms);
  let left = count;
  let wrong = 0;
  const [cpu, at] = [cpuMs(gateway.pid), performance.now()];
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      while (left > 0) {
        left -= 1;
        if ((await one()).bytes !== bytes) wrong += 1;
      }
    }),
  );
  const [spent, took] = [cpuMs(gateway.pid) - cpu, performance.now() - at];
  row.check(
    `${count} lists of ${Math.round(bytes / 1024)} KiB: lists that differ from the first`,
    0,
    wrong,
    wrong === 0,
  );
  // The modern servers say that their lists are old at once: each is asked for again, at most once a second.
  const most = (SERVERS / 2) * KINDS * Math.ceil((performance.now() - counting) / 1000 + 1);
  row.check(
    "requests to servers for them",
    `<= ${most}: what has a ttlMs of 0 is read again once a second`,
    asked() - before,
    asked() - before <= most,
  );
  row.timing(
    "the gateway's processor time for each",
    "<= 0.2 ms, so 5,000/s on a core",
    `${(spent / count).toFixed(3)} ms`,
    spent / count <= 0.2,
  );
  row.timing(
    "one at a time",
    "< 5 ms",
    `${ms(quantile(alone, 0.5))} median, ${ms(quantile(alone, 0.99))} at p99`,
    quantile(alone, 0.5) < 5,
  );
  row.note(
    `${Math.round(count / (took / 1000))} lists/s; load generator and 50 servers in one process on the same two processors`,
  );
  agent.destroy();

  // A hanging server delays no client, and the list is marked as uncacheable.
  const hanging = upstreams[3];
  hanging.intercept = (_request, _response, { method }) => method === "tools/list";
  const partial = row.own(await startGateway({ mcpServers, startupWait: `${STARTUP_WAIT_MS}ms` }));
  const from = performance.now();
  const guest = await openHost(partial.url, "modern");
  let result;
  const others = (SERVERS - 1) * TOOLS;
  await until(
    "the lists of the others",
    async () => {
      ({ result } = (await guest.exchange("tools/list")).message);
      return result.tools.length === others;
    },
    8_000,
    5,
  );
  const without = performance.now() - from;
  row.timing(
    "with one server hanging the others are listed after",
    `<= ${STARTUP_WAIT_MS} ms (startupWait) + 1 s`,
    ms(without),
    without <= STARTUP_WAIT_MS + 1_000,
  );
  row.check(
    "the list without it",
    "ttlMs 0",
    `${result.tools.length} tools, ttlMs ${result.ttlMs}`,
    result.ttlMs === 0,
  );
});
