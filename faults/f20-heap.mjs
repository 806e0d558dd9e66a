/** F20: the heap fills up to its limit. */

import { Host, newAgent, openHost, refusalOf, textOf } from "../test/support/host/host.mjs";
import { get, startGateway } from "./support/gateway.mjs";
import { pause, row, until } from "./support/row.mjs";
import { stdioServer } from "./support/servers.mjs";

const LIMIT = 256;

await row("F20", `the heap at 92, 95 and 98 % of ${LIMIT} MiB`, async (row) => {
  const gateway = row.own(
    await startGateway(
      { mcpServers: { pipe: stdioServer() } },
      { probe: true, nodeFlags: [`--max-old-space-size=${LIMIT}`] },
    ),
  );
  await gateway.met("pipe");
  const { origin } = new URL(gateway.url);
  const agent = newAgent();
  const host = await openHost(gateway.url, "modern", { agent });
  const old = await openHost(gateway.url, "legacy", { agent });
  await host.call("pipe__echo", { text: "." });

  const limitMiB = (await gateway.metric("cardea_heap_limit_bytes")) / 1_048_576;
  row.check(
    "the limit that the gateway detects",
    `${LIMIT} MiB`,
    `${limitMiB.toFixed(0)} MiB`,
    limitMiB === LIMIT,
  );
  let held = 0;
  /** Fills the old generation to this share of the limit, and waits until the gateway has noticed. */
  async function fill(share, level) {
    const { oldUsed } = await gateway.ask("heap");
    held = Math.max(0, Math.round((held + limitMiB * share - oldUsed / 1_048_576) * 8) / 8);
    await gateway.ask("ballast", { mib: held });
    await gateway.ask("heap");
    await until(
      `the gateway to see a heap of ${share}`,
      async () => (await gateway.metric("cardea_overload_level")) === level,
      5_000,
      50,
    ).catch(() => {});
    return gateway.metric("cardea_overload_level");
  }
  const attempt = async (work) => {
    try {
      const { status, message, headers } = await work();
      const refused = status === 503 || refusalOf(message)?.code === "overloaded";
      return {
        kind: refused ? "refused" : status === 200 ? "served" : `status ${status}`,
        headers,
        message,
        status,
      };
    } catch (error) {
      return { kind: error.code ?? error.message };
    }
  };
  const call = (one = host) => attempt(() => one.call("pipe__echo", { text: "here" }));
  const stream = async () => {
    const opened = await host.stream().catch((error) => ({ status: error.code, stop() {} }));
    await opened.stop();
    return opened.status;
  };
  const healthy = async (at) => {
    const states = await Promise.all(
      [gateway.admin, origin].map((base) =>
        get(`${base}/healthz`).then(
          ({ status }) => status,
          (error) => error.code,
        ),
      ),
    );
    row.check(
      `/healthz at ${at}`,
      "200 on the admin listener",
      states.join(", on the main one "),
      states[0] === 200,
    );
  };

  row.check(
    "at rest",
    "level 0, served",
    `level ${await gateway.metric("cardea_overload_level")}, ${(await call()).kind}`,
    (await call()).kind === "served",
  );

  const first = await fill(0.935, 1);
  const at92 = await call();
  const streams = await stream();
  row.check(
    "over 92 %",
    "no keep-alive, no new streams; calls served",
    `level ${first}, ${at92.kind}, connection: ${at92.headers?.connection}, a new stream: ${streams}`,
    first === 1 && at92.kind === "served" && at92.headers.connection === "close" && streams === 503,
  );
  await healthy("92 %");

  const second = await fill(0.96, 2);
  const at95 = await call();
  const older = await call(old);
  const retry = Number(at95.headers?.["retry-after"]);
  row.check(
    "over 95 %",
    "new calls refused with 503 and Retry-After, in both eras",
    `level ${second}, ${at95.kind} (${at95.status}), Retry-After ${retry}, ${older.kind}`,
    second === 2 && at95.kind === "refused" && at95.status === 503 && retry > 0 && older.kind === "refused",
  );
  await healthy("95 %");

  const third = await fill(0.985, 3);
  const at98 = await attempt(() => new Host(gateway.url, "modern").call("pipe__echo", { text: "." }));
  row.check(
    "over 98 %",
    "connections are closed unread",
    `level ${third}, ${at98.kind}`,
    third === 3 && /ECONNRESET|socket hang up|EPIPE/.test(at98.kind),
  );
  await healthy("98 %");
  const seen = gateway.log().filter(({ msg }) => /overload|memory pressure/.test(msg ?? "")).length;
  row.check("log lines", "one per level", seen, seen >= 3 && seen <= 12);

  const fourth = await fill(0, 0);
  await pause(100);
  const { message } = await host.call("pipe__echo", { text: "well again" });
  row.check(
    "after memory was freed",
    "level 0, served",
    `level ${fourth}, ${textOf(message)}`,
    fourth === 0 && textOf(message) === "well again",
  );
  row.check(
    "the process",
    "lives",
    gateway.program.exit === undefined ? "lives" : "ended",
    gateway.program.exit === undefined,
  );
});
