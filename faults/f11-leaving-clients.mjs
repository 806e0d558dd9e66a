/** F11: half of two thousand hosts go away in the middle of their calls. */

import { Host, newAgent, openHost, textOf } from "../test/support/host/host.mjs";
import { startGateway } from "./support/gateway.mjs";
import { ms, pause, quantile, row, until } from "./support/row.mjs";
import { httpUpstream } from "./upstreams/http.mjs";

await row("F11", "1,000 of 2,000 hosts disconnect in the middle of a call", async (row) => {
  const upstream = row.own(await httpUpstream({ era: "modern" }));
  // A server takes 32 calls at once, so it stands there many times.
  const names = Array.from({ length: 64 }, (_, i) => `s${i}`);
  const gateway = row.own(
    await startGateway({
      mcpServers: Object.fromEntries(
        names.map((name) => [name, { type: "http", url: `${upstream.url}?${name}` }]),
      ),
    }),
  );
  await gateway.met(...names);
  const total = row.quick ? 400 : 2000;
  const agent = newAgent();
  const stays = 4000;
  const requests = [];
  let answered = 0;
  let failed = 0;
  let cut = 0;
  const calls = Array.from({ length: total }, async (_, i) => {
    const host = new Host(gateway.url, "modern", { agent });
    try {
      const reply = await host.call(
        `${names[i % names.length]}__slow`,
        { ms: stays, text: String(i) },
        { onRequest: (request) => requests.push(request) },
      );
      if (textOf(reply.message) === String(i) && reply.answers === 1) answered += 1;
      else failed += 1;
    } catch {
      cut += 1;
    }
  });
  await until("all calls to be at work", () => (upstream.ledger.calls.slow ?? 0) === total, 20_000);
  const waits = [];
  // In groups, so that it is not the script that is late.
  for (let i = 0; i < total / 2; i += 50) {
    const left = performance.now();
    const known = upstream.givenUp.length;
    for (const request of requests.slice(i, i + 50)) request.destroy();
    await until("the server to hear of it", () => upstream.givenUp.length >= known + 50, 2_000, 1).catch(
      () => {},
    );
    waits.push(...upstream.givenUp.slice(known).map(({ at }) => at - left));
  }
  await Promise.all(calls);
  row.check(
    "cancellations at the server for calls of disconnected hosts",
    total / 2,
    waits.length,
    waits.length === total / 2,
  );
  row.timing(
    "cancelled after",
    "<= 100 ms",
    `p50 ${ms(quantile(waits, 0.5))}, most ${ms(Math.max(...waits))}`,
    Math.max(...waits) <= 100,
  );
  row.check(
    "responses to connected hosts",
    total / 2,
    answered,
    answered === total / 2 && failed === 0 && cut === total / 2,
  );
  await pause(200);
  const busy = await gateway.metric("cardea_inflight_requests");
  row.check("calls in flight afterwards", 0, busy, busy === 0);
  const errors = gateway.log().filter(({ level }) => level === "error");
  row.check("errors in the log, including writes after end", 0, errors.length, errors.length === 0);

  // In the old era a lost connection is no cancel, but a notification is.
  const old = await openHost(gateway.url, "legacy", { agent });
  const before = upstream.givenUp.length;
  const sending = old.call(
    "s0__slow",
    { ms: 2000, text: "old" },
    { id: 4711, onRequest: (request) => requests.push(request) },
  );
  const outcome = sending.catch(() => "gone");
  await pause(200);
  const said = performance.now();
  await old.notify("notifications/cancelled", { requestId: 4711 });
  await until("the server to hear of it", () => upstream.givenUp.length > before, 2_000, 1);
  row.timing(
    "`notifications/cancelled` of an older host",
    "<= 100 ms",
    ms(upstream.givenUp.at(-1).at - said),
    upstream.givenUp.at(-1).at - said <= 100,
  );
  await outcome;
});
