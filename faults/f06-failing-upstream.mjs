/** F6: half of what a server is asked fails. */

import { newAgent, openHost, refusalOf, textOf } from "../test/support/host/host.mjs";
import { startGateway } from "./support/gateway.mjs";
import { ms, pause, row, until } from "./support/row.mjs";
import { stdioServer } from "./support/servers.mjs";
import { httpUpstream } from "./upstreams/http.mjs";

const OPEN_MS = 10_000;

await row(
  "F6",
  "a server that fails every other call: the circuit opens, half-opens and closes",
  async (row) => {
    const upstream = row.own(await httpUpstream({ era: "modern" }));
    const gateway = row.own(
      await startGateway({ mcpServers: { half: { type: "http", url: upstream.url }, well: stdioServer() } }),
    );
    await gateway.met("half", "well");
    const agent = newAgent();
    const host = await openHost(gateway.url, "modern", { agent });
    const state = () => gateway.metric("cardea_circuit_state", { server: "half" });
    row.check("circuit at first", "closed (0)", await state(), (await state()) === 0);

    let asked = 0;
    let failing = true;
    upstream.intercept = (_request, response, message) => {
      if (message.method !== "tools/call") return false;
      asked += 1;
      if (!failing || asked % 2 === 0) return false;
      response.writeHead(500).end();
      return true;
    };
    let calls = 0;
    const begun = performance.now();
    while ((await state()) !== 2 && performance.now() - begun < 15_000 && calls < 60) {
      calls += 1;
      await host.call("half__echo", { text: `${calls}` });
    }
    const took = performance.now() - begun;
    row.check(
      "calls until the circuit opens",
      "<= 20, or 10 s",
      `${calls}, ${ms(took)}`,
      calls <= 20 || took <= 10_000,
    );

    // Nothing reaches it, and all callers get a retry time immediately.
    const atOpen = performance.now();
    const reached = asked;
    const refused = await Promise.all(
      Array.from({ length: 50 }, (_, n) => host.call("half__echo", { text: `${n}` })),
    );
    const told = refused.filter(({ message }) => {
      const refusal = refusalOf(message);
      return (
        refusal?.code === "upstream_unavailable" &&
        refusal.retryAfterMs > 0 &&
        refusal.retryAfterMs <= OPEN_MS
      );
    }).length;
    row.check("calls refused while open, with retryAfterMs", 50, told, told === 50);
    row.check("calls that reached it while open", 0, asked - reached, asked === reached);
    const { message } = await host.call("well__echo", { text: "unaffected" });
    row.check("the other server", "serves", textOf(message), textOf(message) === "unaffected");

    // It still fails: one call is let through, and it is left alone for another while.
    await until("it to be tried again", async () => (await state()) === 1, OPEN_MS + 3_000, 50);
    const waited = performance.now() - atOpen;
    row.timing(
      "open for",
      `${OPEN_MS / 1000} s`,
      ms(waited),
      waited > OPEN_MS - 1_000 && waited < OPEN_MS + 2_000,
    );
    upstream.intercept = (_request, response, { method }) => {
      if (method !== "tools/call") return false;
      asked += 1;
      setTimeout(() => response.writeHead(500).end(), 300);
      return true;
    };
    let before = asked;
    await Promise.all(Array.from({ length: 20 }, (_, n) => host.call("half__echo", { text: `${n}` })));
    row.check("trial calls", 1, asked - before, asked - before === 1);
    row.check("circuit after the trial failed", "open (2)", await state(), (await state()) === 2);

    // It is well again: three in a row, one at a time, and it is back.
    failing = false;
    upstream.intercept = undefined;
    await until("it to be tried once more", async () => (await state()) === 1, OPEN_MS + 3_000, 50);
    const states = [];
    for (let n = 0; n < 3; n += 1) {
      before = upstream.ledger.calls.echo ?? 0;
      const { message: reply } = await host.call("half__echo", { text: `try ${n}` });
      states.push(`${textOf(reply) === `try ${n}` ? "answered" : "failed"} ${await state()}`);
    }
    row.check(
      "three successes",
      "half open, half open, closed",
      states.join(", "),
      states.join() === "answered 1,answered 1,answered 0",
    );
    const replies = await Promise.all(
      Array.from({ length: 50 }, (_, n) => host.call("half__echo", { text: `${n}` })),
    );
    const right = replies.filter(({ message: reply }, n) => textOf(reply) === `${n}`).length;
    row.check("calls answered afterwards", 50, right, right === 50);

    // A call that only reads is made again where its server was lost, within a budget.
    let lost = 0;
    upstream.intercept = (request, _response, { method }) => {
      if (method !== "tools/call" || lost >= 5) return false;
      lost += 1;
      request.socket.destroy();
      return true;
    };
    const reads = [];
    for (let n = 0; n < 5; n += 1)
      reads.push(textOf((await host.call("half__look", { text: `${n}` })).message));
    const repeats = await gateway.metric("cardea_retries_total", { server: "half" });
    const well = reads.filter((text, n) => text === `${n}`).length;
    // Five connections break: two reads lose both attempts, the third is answered at its second.
    row.check(
      "reads whose connection broke, each retried once",
      "3 of 5 answered, 3 repeats",
      `${well} of 5 answered, ${repeats} repeats`,
      well === 3 && repeats === 3,
    );
    lost = 0;
    const writes = (await host.call("half__echo", { text: "once" })).message;
    row.check(
      "a call with side effects",
      "not retried",
      `${refusalOf(writes)?.code ?? textOf(writes)}, ${lost} time`,
      lost === 1 && refusalOf(writes) !== undefined,
    );
    await pause(100);
  },
);
