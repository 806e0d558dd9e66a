/** F28: mixed traffic with kills, reloads, and unanswered questions; afterwards nothing is retained. */

import { Host, newAgent, textOf } from "../test/support/host/host.mjs";
import { NOT_OPTIMIZING, startGateway } from "./support/gateway.mjs";
import { mib, ms, pause, quantile, row, until } from "./support/row.mjs";
import { httpServer, stdioServer } from "./support/servers.mjs";
import { startTraffic } from "./support/traffic.mjs";
import { httpUpstream } from "./upstreams/http.mjs";

const CAN_BE_ASKED = { elicitation: { form: {} }, sampling: {} };
const LARGE = "x".repeat(200_000);

await row("F28", "mixed traffic, kills and reloads: what is held afterwards", async (row) => {
  const seconds = row.long ? 900 : row.quick ? 15 : 60;
  let web = await httpUpstream();
  row.own({ stop: () => web.stop() });
  const { port } = web;
  let version = 0;
  const config = () => ({
    mcpServers: { pipe: stdioServer(), old: stdioServer(["--era", "legacy"]), web: httpServer(web) },
    parkedCalls: { answerTimeout: "3s" },
    profiles: { [`v${version}`]: { servers: ["pipe"] } },
    policy: { rules: [{ name: `rule-${version}`, tools: [`nothing_${version}`], effect: "deny" }] },
  });
  const gateway = row.own(await startGateway(config(), { probe: true, nodeFlags: NOT_OPTIMIZING }));
  await gateway.met("pipe", "old", "web");
  const agent = newAgent();
  row.own({ stop: async () => agent.destroy() });
  const looker = new Host(gateway.url, "modern", { agent });
  const served = async (tool) => textOf((await looker.call(tool, { text: "." })).message);
  const [afterRestart, afterKill] = [[], []];
  let asked = 0;

  /** The server over HTTP is away for a second. */
  async function restartWeb() {
    await web.stop();
    await pause(1000);
    web = await httpUpstream({ port });
    const { ms: time } = await until(
      "web to serve",
      async () => (await served("web__look")) === ".",
      20_000,
      10,
    );
    afterRestart.push(time);
  }
  async function killPipe() {
    const pid = Number(await served("pipe__pid"));
    if (!(pid > 0)) return;
    process.kill(pid, "SIGKILL");
    const killed = performance.now();
    await until("pipe to serve", async () => (await served("pipe__look")) === ".", 20_000, 10);
    afterKill.push(performance.now() - killed);
  }
  async function reload() {
    version += 1;
    gateway.configure(config());
    await pause(700);
  }
  /** Hosts that come, ask for something that they are asked about, answer nothing and go. */
  async function comeAndGo() {
    const modern = new Host(gateway.url, "modern", { agent, capabilities: CAN_BE_ASKED });
    await modern.call("old__ask", { text: LARGE });
    asked += 1;
    const legacy = await openHost(gateway.url, "legacy", { agent, capabilities: CAN_BE_ASKED });
    await legacy.list("tools");
    await legacy.call("web__echo", { text: LARGE });
    const waiting = legacy.call(
      "old__ask",
      { text: LARGE },
      { onRequest: (request) => setTimeout(() => request.destroy(), 50) },
    );
    await waiting.catch(() => {});
    await legacy.close();
    await pause(100);
  }
  async function storm(lengthMs) {
    const end = performance.now() + lengthMs;
    const again = async (work, everyMs) => {
      while (performance.now() < end) {
        await work().catch(() => {});
        await pause(Math.min(everyMs, Math.max(0, end - performance.now())));
      }
    };
    const traffic = await startTraffic(gateway.url, {
      tools: ["pipe__echo", "web__echo", "old__echo"],
      rate: 100,
    });
    await Promise.all([
      again(restartWeb, 6_000),
      again(killPipe, 7_000),
      again(reload, 300),
      again(comeAndGo, 0),
    ]);
    const window = await traffic.window();
    await traffic.stop();
    return window;
  }
  /** Everything has ended that can end: sessions, questions, calls, connections of single clients. */
  async function calm() {
    agent.destroy();
    await until(
      "questions to expire",
      async () => (await gateway.metric("cardea_parked_calls")) === 0,
      20_000,
      100,
    );
    await pause(3_000);
    return gateway.objectsMiB();
  }

  await storm(8_000);
  const before = await calm();
  afterRestart.length = 0;
  afterKill.length = 0;
  const window = await storm(seconds * 1000);
  const after = await calm();
  row.note(
    `${window.calls} calls, ${window.errors} of them at servers that were away; ${version} reloads, ${asked} questions without an answer, ${seconds} s (--long: 900 s)`,
  );
  row.check(
    "heap without compiled code afterwards",
    "<= + 5 %",
    `${mib(before)} to ${mib(after)}`,
    after <= before * 1.05,
  );
  row.timing(
    "an HTTP server that was down for a second recovered after",
    "<= 1.5 s",
    `${ms(quantile(afterRestart, 0.5))} (median), ${ms(Math.max(...afterRestart))} (longest of ${afterRestart.length})`,
    Math.max(...afterRestart) <= 1500,
  );
  row.timing(
    "a killed process recovered after",
    "<= 1.2 s + 0.5 s (median)",
    ms(quantile(afterKill, 0.5)),
    quantile(afterKill, 0.5) <= 1700,
  );
});
