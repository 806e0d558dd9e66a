/** F29: fifty hosts of one principal do their worst, all at once; another principal's calls are served as before. */
import { createHash } from "node:crypto";
import { NOT_OPTIMIZING, startGateway } from "./support/gateway.mjs";
import { Host, META_OF_MODERN, newAgent } from "./support/host.mjs";
import { mib, ms, pause, row, until } from "./support/row.mjs";
import { httpProcess, httpServer, stdioServer } from "./support/servers.mjs";
import { startTraffic, summary, usualP99 } from "./support/traffic.mjs";

const HOSTS = 50;
const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
const key = (id) => `key-of-${id}-and-of-nobody-else`;
const bearer = (id) => ({ authorization: `Bearer ${key(id)}` });
const keyOf = (id) => ({ id, hash: `sha256:${createHash("sha256").update(key(id)).digest("hex")}` });
const long = (bytes) => "n".repeat(bytes);
const HUGE = long(3_900_000);

await row(
  "F29",
  "50 hosts of one principal do their worst: another principal's calls, and memory",
  async (row) => {
    const seconds = row.long ? 300 : row.quick ? 10 : 40;
    const strict = row.own(await httpProcess(["--strict"]));
    const gateway = row.own(
      await startGateway(
        {
          auth: { keys: [keyOf("good"), keyOf("evil")] },
          parkedCalls: { answerTimeout: "5s" },
          mcpServers: {
            web: httpServer(strict),
            old: stdioServer(["--era", "legacy", "--follow"]),
            pipe: stdioServer(),
          },
          policy: { rules: [{ name: "no", resources: ["*forbidden*"], effect: "deny" }] },
          limits: [{ name: "each", resources: ["*"], rate: "100000/min", per: "tool" }],
        },
        { probe: true, nodeFlags: NOT_OPTIMIZING },
      ),
    );
    await gateway.met("web", "old", "pipe");
    const agent = newAgent();
    row.own({ stop: async () => agent.destroy() });
    const evil = (era) => new Host(gateway.url, era, agent, bearer("evil"));
    const asKind = (kind) => {
      const host = evil("modern");
      host.meta = {
        ...META_OF_MODERN,
        [CAPABILITIES]: { elicitation: { form: {} }, experimental: { [`k${kind}`]: {} } },
      };
      return host;
    };
    let n = 0;
    /** Sessions; when the storm is over their hosts are gone, which ends them sooner than their idle time would. */
    const left = [];
    const worst = [
      () => evil("modern").send("resources/read", { uri: `file:///${long(3_500)}${n}` }),
      () => evil("modern").call("web__look", { status: 400 + (n % 30) }),
      () => evil("modern").send("resources/read", { uri: `x:forbidden/${HUGE}` }),
      () => evil("modern").call(HUGE),
      () => evil("modern").call("web__echo", { text: "." }, { meta: { progressToken: HUGE } }),
      () => evil("modern").send("resources/read", { uri: `x:forbidden/${n}${long(4_000)}` }),
      () => asKind(n % 60).call("old__echo", { text: "." }),
      () => asKind(n % 5).call("old__ask", { text: long(1_000_000) }),
      async () => void left.push(await evil("legacy").open({})),
      async () => {
        const host = await evil("legacy").open({ elicitation: {} });
        left.push(host);
        await host.send("resources/subscribe", { uri: "old+test://text" });
      },
      () =>
        evil("modern").stream({
          notifications: {
            resourceSubscriptions: Array.from({ length: 900 }, (_, i) => `old+test://${i}${long(1_000)}`),
          },
        }),
      () => evil("modern").call("pipe__slow", { ms: 500 }),
    ];

    const base = row.own(
      await startTraffic(gateway.url, {
        tools: ["web__echo", "pipe__echo", "old__echo"],
        rate: 100,
        headers: bearer("good"),
      }),
    );
    /** One request of each kind by each host, and again, until the time is over. */
    async function rage(lengthMs) {
      const end = performance.now() + lengthMs;
      const streams = [];
      await Promise.all(
        Array.from({ length: HOSTS }, async (_, host) => {
          for (let at = host; performance.now() < end; at += 1) {
            n += 1;
            // Whoever is not answered soon goes on with the next; the connection stays as it is.
            const came = await Promise.race([
              worst[at % worst.length]().catch(() => undefined),
              pause(3_000),
            ]);
            if (came?.stop !== undefined) streams.push(came);
            await pause(250);
          }
        }),
      );
      for (const stream of streams) await stream.stop();
      for (const host of left.splice(0)) await host.close();
    }
    async function calm() {
      agent.destroy();
      await until(
        "questions to expire",
        async () => (await gateway.metric("cardea_parked_calls")) === 0,
        30_000,
        100,
      );
      await pause(2_000);
      return gateway.objectsMiB();
    }

    await rage(3_000);
    const before = await calm();
    await base.window();
    const quiet = await base.windows(5, 2_000);
    const noisy = [];
    const raging = rage(seconds * 1000);
    const windows = Math.floor(seconds / 2);
    for (let at = 0; at < windows; at += 1) noisy.push(await base.during(() => pause(2_000)));
    await raging;
    const after = await calm();
    const [p99, was] = [usualP99(noisy), usualP99(quiet)];
    const errors = noisy.reduce((sum, one) => sum + one.errors, 0);
    const calls = noisy.reduce((sum, one) => sum + one.calls, 0);
    const failed = noisy.flatMap(({ samples }) => samples.filter(({ error }) => error !== undefined));
    const kinds = Object.entries(summary(failed).errorCounts).map(([error, count]) => `${count} x ${error}`);
    for (const { tool, era, at, ms: after, error, words = "" } of failed.slice(0, 20))
      console.log(
        `${tool} of a ${era} host, sent at ${ms(at)}, failed after ${ms(after)}: ${error} ${words}`,
      );
    row.note(
      `${n} requests of ${HOSTS} hosts in ${seconds} s (--long: 300 s), each host one at a time with 250 ms between`,
    );
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
    row.check(
      "heap without compiled code afterwards",
      "<= + 5 %",
      `${mib(before)} to ${mib(after)}`,
      after <= before * 1.05,
    );
    row.check(
      "circuit of the server that turned requests down",
      "closed (0)",
      await gateway.metric("cardea_circuit_state", { server: "web" }),
      (await gateway.metric("cardea_circuit_state", { server: "web" })) === 0,
    );
  },
);
