/** F24: gateways behind gateways, and in a circle. */
import { createServer } from "node:net";
import { openHost, refusalOf, textOf } from "../test/support/host/host.mjs";
import { startGateway } from "./support/gateway.mjs";
import { ms, pause, row, until } from "./support/row.mjs";
import { stdioServer } from "./support/servers.mjs";

/** A port that is free now; gateways of a circle must know each other's before they start. */
const freePort = () =>
  new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });

await row("F24", "a chain of two gateways; a loop of two; a gateway that is its own server", async (row) => {
  const gateway = async (servers, port) =>
    row.own(
      await startGateway(
        { mcpServers: servers },
        port === undefined ? {} : { flags: ["--port", String(port)] },
      ),
    );
  const at = (port) => ({ type: "http", url: `http://127.0.0.1:${port}/mcp` });

  // host -> A -> B -> server
  const inner = await gateway({ s: stdioServer() });
  await inner.met("s");
  const outer = await gateway({ b: { type: "http", url: inner.url } });
  await outer.met("b");
  for (const era of ["legacy", "modern"]) {
    const host = await openHost(outer.url, era);
    const { message } = await host.call("b__s__echo", { text: era });
    const heard = [];
    await host.call(
      "b__s__chatter",
      { bytes: 10, everyMs: 20, forMs: 100 },
      { meta: { progressToken: "p" }, onMessage: (one) => heard.push(one.params?.progressToken) },
    );
    row.check(
      `a chain of two, ${era} host`,
      "served, progress too",
      `${textOf(message)}, ${heard.filter((token) => token === "p").length} notices`,
      textOf(message) === era && heard.includes("p"),
    );
  }

  // A -> B -> A, each with a server of its own
  const [a, b] = [await freePort(), await freePort()];
  const begun = performance.now();
  const [first, second] = await Promise.all([
    gateway({ own: stdioServer(["--era", "legacy"]), b: at(b) }, a),
    gateway({ own: stdioServer(["--era", "legacy"]), a: at(a) }, b),
  ]);
  await Promise.all([first.met("own", "b"), second.met("own", "a")]);
  const met = performance.now() - begun;
  const host = await openHost(first.url, "modern");
  const names = async () => (await host.list("tools")).map(({ name }) => name);
  await until(
    "the tools of the other",
    async () => (await names()).some((name) => name.startsWith("b__own__")),
    10_000,
    50,
  );
  await pause(2000);
  const settled = await names();
  row.timing("a loop of two: all connected after", "<= 5 s", ms(met), met <= 5000);
  const own = settled.filter((name) => name.startsWith("own__")).length;
  row.check(
    "tools listed",
    `${2 * own}: its own, and those of the other`,
    settled.length,
    settled.length === 2 * own && !settled.some((name) => name.includes("b__a__")),
  );
  const served = textOf((await host.call("b__own__echo", { text: "round" })).message);
  row.check("a call to the other", "served", served, served === "round");

  // A change goes round once, and comes to rest.
  await host.call("own__change");
  const other = await openHost(second.url, "modern");
  await until(
    "the change to arrive",
    async () => (await other.list("tools")).some(({ name }) => name === "a__own__extra_0"),
    10_000,
    50,
  ).catch(() => {});
  await pause(1500);
  const calls = async (one) => (await one.metric("cardea_list_changed_total", { list: "tools" })) ?? 0;
  const before = (await calls(first)) + (await calls(second));
  await pause(2000);
  const after = (await calls(first)) + (await calls(second));
  row.check(
    "a change of a list",
    "arrives once",
    `${(await other.list("tools")).length} tools, ${after - before} further changes`,
    after === before && (await other.list("tools")).some(({ name }) => name === "a__own__extra_0"),
  );

  // Unprefixed names: nothing in a name reveals the loop.
  const [c, d] = [await freePort(), await freePort()];
  const [third] = await Promise.all([
    gateway({ d: { ...at(d), prefix: "" } }, c),
    gateway({ c: { ...at(c), prefix: "" } }, d),
  ]);
  await third.met("d");
  const lost = await openHost(third.url, "modern");
  const reading = performance.now();
  const { message } = await lost.exchange("resources/read", { uri: "x:lost" });
  const took = performance.now() - reading;
  row.check(
    "a call that would circulate",
    "an error, at once",
    `${refusalOf(message)?.code ?? message.error?.code} after ${ms(took)}`,
    message.error !== undefined && took <= 2000,
  );

  // The many hops of a forged call.
  const forged = await host.call(
    "b__own__echo",
    { text: "." },
    { meta: { "cardea/hops": Array.from({ length: 8 }, (_, i) => `g${i}`) } },
  );
  row.check(
    "a call that came through 8 gateways",
    "refused",
    refusalOf(forged.message)?.code,
    refusalOf(forged.message)?.code === "bad_request",
  );

  const e = await freePort();
  const self = await gateway({ own: stdioServer(), me: at(e) }, e);
  await self.met("own", "me");
  await pause(1000);
  const mirror = await openHost(self.url, "modern");
  const shown = await mirror.list("tools");
  row.check(
    "a gateway that is its own server",
    "lists its other servers once",
    `${shown.length} tools`,
    shown.length === own && shown.every(({ name }) => name.startsWith("own__")),
  );
});
