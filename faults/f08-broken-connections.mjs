/** F8: connections to a server break at every point of an answer. */

import { openHost, refusalOf, textOf } from "../test/support/host/host.mjs";
import { startGateway } from "./support/gateway.mjs";
import { faultProxy } from "./support/proxy.mjs";
import { ms, row } from "./support/row.mjs";
import { httpServer, stdioServer } from "./support/servers.mjs";
import { startTraffic } from "./support/traffic.mjs";
import { httpUpstream } from "./upstreams/http.mjs";

const WHERE = {
  "inside the head": { afterBytes: 20 },
  "after the head": { afterHead: 0 },
  "after half an event": { afterHead: 400 },
};

await row(
  "F8",
  "connections reset or ended inside the head, after it, and in the middle of an event",
  async (row) => {
    const cells = [];
    for (const era of ["legacy", "modern"]) {
      for (const sse of [true, false]) {
        const upstream = row.own(await httpUpstream({ era, sse }));
        const proxy = row.own(await faultProxy(upstream.url));
        cells.push({ name: `${era}_${sse ? "sse" : "json"}`, upstream, proxy });
      }
    }
    const gateway = row.own(
      await startGateway({
        mcpServers: {
          ...Object.fromEntries(cells.map(({ name, proxy }) => [name, httpServer(proxy)])),
          pipe: stdioServer(),
        },
      }),
    );
    await gateway.met(...cells.map(({ name }) => name), "pipe");
    const hosts = await Promise.all(["legacy", "modern"].map((era) => openHost(gateway.url, era)));
    const traffic = row.own(await startTraffic(gateway.url, { tools: ["pipe__echo"], rate: 100 }));

    const faulty = [];
    const slow = [];
    const stuck = [];
    const repeated = [];
    let broken = 0;
    const text = "t".repeat(2000);
    for (const { name, upstream, proxy } of cells) {
      for (const fault of ["reset", "end"]) {
        for (const [where, place] of Object.entries(WHERE)) {
          for (const host of hosts) {
            const what = `${name}, ${fault} ${where}, ${host.era} host`;
            const before = upstream.ledger.calls.echo ?? 0;
            Object.assign(proxy.faults, { afterBytes: undefined, afterHead: undefined, ...place, fault });
            const { message, answers, ms: took } = await host.call(`${name}__echo`, { text });
            Object.assign(proxy.faults, { afterBytes: undefined, afterHead: undefined, fault: undefined });
            broken += 1;
            const refusal = refusalOf(message);
            if (answers !== 1 || refusal?.code !== "upstream_closed" || refusal.server !== name)
              faulty.push(`${what}: ${JSON.stringify(message).slice(0, 200)}`);
            if (took > 1000) slow.push(`${what}: ${ms(took)}`);
            if ((upstream.ledger.calls.echo ?? 0) - before > 1) repeated.push(what);
            // A breaker that opened would hide the next fault.
            let well = 0;
            for (let i = 0; i < 3; i += 1) {
              const again = await host.call(`${name}__echo`, { text: "again" });
              if (textOf(again.message) === "again") well += 1;
            }
            if (well !== 3) stuck.push(what);
          }
        }
      }
    }
    for (const line of [...faulty, ...slow, ...stuck].slice(0, 5)) console.error(line);
    row.check(
      `${broken} broken calls without exactly one clear error`,
      0,
      faulty.length,
      faulty.length === 0,
    );
    row.timing("error later than 1 s", 0, slow.length, slow.length === 0);
    row.check("run twice", 0, repeated.length, repeated.length === 0);
    row.check("next calls that failed", 0, stuck.length, stuck.length === 0);
    const others = await traffic.window();
    row.check("errors of another server", 0, `${others.errors} of ${others.calls}`, others.errors === 0);
    const errors = gateway.log().filter(({ level }) => level === "error");
    row.check(
      "the process",
      "lives, and logs no internal error",
      `${errors.length} errors`,
      errors.length === 0 && gateway.program.exit === undefined,
    );
  },
);
