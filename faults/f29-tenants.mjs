/** F29: fifty hosts of one principal do their worst, all at once; another principal's calls are served as before. */
import { createHash } from "node:crypto";
import { setPriority } from "node:os";
import { Host, newAgent } from "../test/support/host/host.mjs";
import { NOT_OPTIMIZING, startGateway } from "./support/gateway.mjs";
import { mib, ms, pause, row, until } from "./support/row.mjs";
import { httpProcess, httpServer, stdioServer } from "./support/servers.mjs";
import { startTraffic, summary, usualP99 } from "./support/traffic.mjs";

const HOSTS = 50;
const LOWEST = 19;
const STATUSES = 30;
const key = (id) => `key-of-${id}-and-of-nobody-else`;
const bearer = (id) => ({ authorization: `Bearer ${key(id)}` });
const keyOf = (id) => ({ id, hash: `sha256:${createHash("sha256").update(key(id)).digest("hex")}` });
const long = (bytes) => "n".repeat(bytes);
const HUGE = long(3_900_000);

await row("F29", "50 hostile hosts of one principal: another principal's calls, and memory", async (row) => {
  const seconds = row.long ? 300 : row.quick ? 10 : 40;
  row.note(
    `twice ${seconds} s (--long: 300 s), each host one request at a time with 250 ms between: calls are measured first, then memory on a gateway started with --no-opt, which would be five to ten times as slow`,
  );
  await withStorm({}, (storm) => judgeCalls(row, storm, seconds));
  await withStorm({ probe: true, nodeFlags: NOT_OPTIMIZING }, (storm) => judgeMemory(row, storm, seconds));
});

async function judgeCalls(row, { gateway, rage, calm }, seconds) {
  const base = row.own(
    await startTraffic(gateway.url, {
      tools: ["web__echo", "pipe__echo", "old__echo"],
      rate: 100,
      headers: bearer("good"),
    }),
  );
  await rage(3_000);
  await calm();
  await base.window();
  const quiet = await base.windows(5, 2_000);
  // The hosts' own work belongs to other machines: this thread has what the gateway, its servers and the calls leave.
  setPriority(LOWEST);
  const raging = rage(seconds * 1000);
  const noisy = await base.windows(Math.floor(seconds / 2), 2_000);
  const sent = await raging;
  await base.stop();
  const [p99, was] = [usualP99(noisy), usualP99(quiet)];
  const errors = noisy.reduce((sum, one) => sum + one.errors, 0);
  const calls = noisy.reduce((sum, one) => sum + one.calls, 0);
  const failed = noisy.flatMap(({ samples }) => samples.filter(({ error }) => error !== undefined));
  const kinds = Object.entries(summary(failed).errorCounts).map(([error, count]) => `${count} x ${error}`);
  for (const { tool, era, at, ms: after, error, words = "" } of failed.slice(0, 20))
    console.log(`${tool} of a ${era} host, sent at ${ms(at)}, failed after ${ms(after)}: ${error} ${words}`);
  row.note(`${sent} requests of ${HOSTS} hosts in the first ${seconds} s`);
  row.check(
    "refused or failed calls of the other principal",
    0,
    `${errors} of ${calls}${errors > 0 ? `: ${kinds.join(", ")}` : ""}`,
    errors === 0 && calls > 100,
  );
  row.timing(
    "p99 of the other principal",
    "<= 2 x base",
    `${(p99 / was).toFixed(2)} x (${ms(was)} to ${ms(p99)})`,
    p99 <= was * 2,
  );
  const circuit = await gateway.metric("cardea_circuit_state", { server: "web" });
  row.check("circuit of the server that rejected requests", "closed (0)", circuit, circuit === 0);
}

async function judgeMemory(row, { gateway, rejectEach, rage, calm }, seconds) {
  // A first 401 loads the code of sign-ins, which stays.
  await rejectEach();
  await rage(3_000);
  await calm();
  const before = await gateway.objectsMiB();
  const sent = await rage(seconds * 1000);
  await calm();
  const after = await gateway.objectsMiB();
  row.note(`${sent} requests of ${HOSTS} hosts in the second ${seconds} s`);
  row.check(
    "heap without compiled code afterwards",
    "<= + 5 %",
    `${mib(before)} to ${mib(after)}`,
    after <= before * 1.05,
  );
}

/** Calls `work` with a gateway of its own, and what makes the storm at it and waits for its end. */
async function withStorm(options, work) {
  const owned = [];
  try {
    const strict = await httpProcess(["--strict"]);
    owned.push(strict);
    const config = {
      auth: { keys: [keyOf("good"), keyOf("evil")] },
      parkedCalls: { answerTimeout: "5s" },
      mcpServers: {
        web: httpServer(strict),
        old: stdioServer(["--era", "legacy", "--follow"]),
        pipe: stdioServer(),
      },
      policy: { rules: [{ name: "no", resources: ["*forbidden*"], effect: "deny" }] },
      limits: [{ name: "each", resources: ["*"], rate: "100000/min", per: "tool" }],
    };
    const gateway = await startGateway(config, options);
    owned.push(gateway);
    await gateway.met("web", "old", "pipe");
    const agent = newAgent();
    owned.push({ stop: async () => agent.destroy() });
    await work({ gateway, ...stormAt(gateway, agent) });
  } finally {
    for (const thing of owned.reverse()) await thing.stop();
  }
}

function stormAt(gateway, agent) {
  const evil = (era, capabilities = {}) =>
    new Host(gateway.url, era, { agent, headers: bearer("evil"), capabilities });
  const asKind = (kind) => evil("modern", { elicitation: { form: {} }, experimental: { [`k${kind}`]: {} } });
  let n = 0;
  /** Sessions; when the storm is over their hosts are gone, which ends them sooner than their idle time would. */
  const left = [];
  const worst = [
    () => evil("modern").exchange("resources/read", { uri: `file:///${long(3_500)}${n}` }),
    () => evil("modern").call("web__look", { status: 400 + (n % STATUSES) }),
    () => evil("modern").exchange("resources/read", { uri: `x:forbidden/${HUGE}` }),
    () => evil("modern").call(HUGE),
    () => evil("modern").call("web__echo", { text: "." }, { meta: { progressToken: HUGE } }),
    () => evil("modern").exchange("resources/read", { uri: `x:forbidden/${n}${long(4_000)}` }),
    () => asKind(n % 60).call("old__echo", { text: "." }),
    () => asKind(n % 5).call("old__ask", { text: long(1_000_000) }),
    async () => void left.push(await evil("legacy").open()),
    async () => {
      const host = await evil("legacy", { elicitation: {} }).open();
      left.push(host);
      await host.exchange("resources/subscribe", { uri: "old+test://text" });
    },
    () =>
      evil("modern").stream({
        notifications: {
          resourceSubscriptions: Array.from({ length: 900 }, (_, i) => `old+test://${i}${long(1_000)}`),
        },
      }),
    () => evil("modern").call("pipe__slow", { ms: 500 }),
  ];

  return { rejectEach, rage, calm };

  /** One call that gets each of the statuses that the storm asks for. */
  async function rejectEach() {
    for (let at = 0; at < STATUSES; at += 1) await evil("modern").call("web__look", { status: 400 + at });
  }

  /** One request of each kind by each host, and again, until the time is over; resolves to how many. */
  async function rage(lengthMs) {
    const first = n;
    const end = performance.now() + lengthMs;
    const streams = [];
    await Promise.all(
      Array.from({ length: HOSTS }, async (_, host) => {
        for (let at = host; performance.now() < end; at += 1) {
          n += 1;
          // A client without a timely response sends the next call; the connection stays open.
          const came = await Promise.race([worst[at % worst.length]().catch(() => undefined), pause(3_000)]);
          if (came?.stop !== undefined) streams.push(came);
          await pause(250);
        }
      }),
    );
    for (const stream of streams) await stream.stop();
    for (const host of left.splice(0)) await host.close();
    return n - first;
  }
  /** Resolves when nothing of it is under way any longer. */
  async function calm() {
    agent.destroy();
    await until(
      "questions to expire",
      async () => (await gateway.metric("cardea_parked_calls")) === 0,
      30_000,
      100,
    );
    await pause(2_000);
  }
}
