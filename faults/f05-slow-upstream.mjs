/** F5: a server answers slowly, and more is asked of it than it can do. */

import { newAgent, openHost, refusalOf, textOf } from "../test/support/host/host.mjs";
import { startGateway } from "./support/gateway.mjs";
import { ms, pause, quantile, row, until } from "./support/row.mjs";
import { stdioServer } from "./support/servers.mjs";
import { startTraffic, usualP99 } from "./support/traffic.mjs";
import { httpUpstream } from "./upstreams/http.mjs";

const PLACES = 10;
const ROOM = 100;
const ANSWER_MS = 2_000;

await row("F5", "a server that takes 2 s for each call, 100 calls/s, concurrency 10", async (row) => {
  const slow = row.own(await httpUpstream({ era: "modern" }));
  let inside = 0;
  let most = 0;
  const { slow: answer } = slow.answer.tools;
  slow.answer.tools.slow = async (...given) => {
    inside += 1;
    most = Math.max(most, inside);
    try {
      return await answer(...given);
    } finally {
      inside -= 1;
    }
  };
  const gateway = row.own(
    await startGateway({
      mcpServers: { slow: { type: "http", url: slow.url }, fast: stdioServer() },
      limits: [{ name: "places", servers: ["slow"], concurrency: PLACES, queue: ROOM, per: "server" }],
    }),
  );
  await gateway.met("slow", "fast");
  const traffic = row.own(await startTraffic(gateway.url, { tools: ["fast__echo"], rate: 400 }));
  await pause(2_000);

  const agent = newAgent();
  const hosts = await Promise.all(["legacy", "modern"].map((era) => openHost(gateway.url, era, { agent })));
  /** The same load, whether the server is slow or not. */
  const flood = async (forSeconds, answerMs) => {
    const calls = [];
    const windows = traffic.windows(forSeconds / 2, 2_000);
    const begun = performance.now();
    for (let n = 0; n < forSeconds * 100; n += 1) {
      const text = `slow ${n}`;
      calls.push(
        hosts[n % 2].call("slow__slow", { ms: answerMs, text }).then((reply) => ({ ...reply, text })),
      );
      await pause(begun + (n + 1) * 10 - performance.now());
    }
    return { replies: await Promise.all(calls), windows: await windows };
  };
  const seconds = row.quick ? 4 : 10;
  const calm = row.quick ? 2 : 6;
  const before = await flood(calm, 0);
  most = 0;
  const during = await flood(seconds, ANSWER_MS);
  const { replies } = during;
  const after = await flood(calm, 0);
  const answered = replies.filter(({ message, text }) => textOf(message) === text);
  const refused = replies.filter(({ message }) => refusalOf(message)?.code === "queue_full");
  row.check("concurrent calls at the server", `<= ${PLACES}`, most, most <= PLACES);
  row.check(
    "calls neither answered nor refused",
    0,
    replies.length - answered.length - refused.length,
    answered.length + refused.length === replies.length,
  );
  // Those who are inside, those who wait, and those whose place became free while we asked.
  const bound = PLACES + ROOM + Math.ceil((seconds * 1000 * PLACES) / ANSWER_MS) + PLACES;
  row.check(
    "calls admitted",
    `>= ${PLACES + ROOM}, <= ${bound}`,
    answered.length,
    answered.length >= PLACES + ROOM && answered.length <= bound,
  );
  const told = refused.filter(({ message }) => {
    const { retryable, retryAfterMs, rule } = refusalOf(message);
    return retryable === true && retryAfterMs > 0 && rule === "places";
  }).length;
  row.check("refusals with retryAfterMs", refused.length, told, told === refused.length && told > 0);
  const p99 = quantile(
    refused.map((reply) => reply.ms),
    0.99,
  );
  row.timing(
    "refused after",
    "< 10 ms at p99",
    `${ms(
      quantile(
        refused.map((reply) => reply.ms),
        0.5,
      ),
    )} median, ${ms(p99)} at p99`,
    p99 < 10,
  );
  const others = [...before.windows, ...during.windows, ...after.windows];
  const errors = others.reduce((sum, window) => sum + window.errors, 0);
  row.check("errors of calls to the other server", 0, errors, errors === 0);
  const [base, under] = [usualP99([...before.windows, ...after.windows]), usualP99(during.windows)];
  row.timing(
    "p99 of calls to the other server",
    "base + 20 %",
    `${ms(base)} to ${ms(under)}`,
    under <= base * 1.2,
  );
  row.note(
    "base: the same load while the server answers at once, before and after; p99 is the median of windows of 2 s at 400 calls/s",
  );
  await until(
    "all places to be free",
    async () => (await gateway.metric("cardea_inflight_requests", { server: "slow" })) === 0,
  );
  const [again] = await Promise.all([hosts[0].call("slow__echo", { text: "well" })]);
  row.check("afterwards", "serves", textOf(again.message), textOf(again.message) === "well");
});
