/** F10: a stdio server writes what no server should, and a great deal of it. */
import { writeFileSync } from "node:fs";
import { openHost, refusalOf, textOf } from "../test/support/host/host.mjs";
import { startGateway } from "./support/gateway.mjs";
import { peakMiB, rssMiB } from "./support/processes.mjs";
import { mib, ms, row, until } from "./support/row.mjs";
import { stdioServer } from "./support/servers.mjs";
import { startTraffic, summary } from "./support/traffic.mjs";

await row(
  "F10",
  "a stdio server writes invalid output, 1 GB in one line, and 100 MB/s on stderr",
  async (row) => {
    const gateway = row.own(
      await startGateway({ mcpServers: { dirty: stdioServer(), clean: stdioServer() } }, { probe: true }),
    );
    await gateway.met("dirty", "clean");
    const host = await openHost(gateway.url, "modern");
    const traffic = row.own(await startTraffic(gateway.url, { tools: ["clean__echo"], rate: 200 }));
    const calm = await traffic.during(() => new Promise((resolve) => setTimeout(resolve, 3000)));

    /** How far the memory went above where it was, and what came of `work`. */
    async function growth(work) {
      await gateway.ask("heap");
      writeFileSync(`/proc/${gateway.pid}/clear_refs`, "5");
      const before = rssMiB(gateway.pid);
      const value = await work();
      return { grown: peakMiB(gateway.pid) - before, value };
    }
    const serves = async () => textOf((await host.call("dirty__echo", { text: "well" })).message) === "well";

    for (const kind of ["banner", "nul", "utf8", "bom"]) {
      const { message } = await host.call("dirty__junk", { kind });
      const next = await serves();
      row.check(
        `${kind}: the response after it, and the next`,
        "served",
        `${textOf(message)}, ${next}`,
        textOf(message) === kind && next,
      );
    }

    const bytes = row.quick ? 200 * 1_048_576 : 1024 * 1_048_576;
    const line = await growth(async () => {
      const { message } = await host.call("dirty__junk", { kind: "line", bytes });
      return refusalOf(message)?.code;
    });
    row.check(
      `a line of ${bytes / 1_048_576} MiB: the call`,
      "upstream_closed",
      line.value,
      line.value === "upstream_closed",
    );
    row.check("memory during this", "< + 32 MiB", `+ ${mib(line.grown)}`, line.grown < 32);
    const { ms: back } = await until("the server to be back", serves, 10_000, 50);
    row.timing("recovered after", "<= 1.7 s", ms(back), back <= 1700);

    const forMs = row.quick ? 2000 : 6000;
    const samples = [];
    const flood = await growth(async () => {
      const window = await traffic.during(() =>
        host.call("dirty__junk", { kind: "stderr", forMs, bytesPerSecond: 100 * 1_048_576 }),
      );
      samples.push(...window.samples);
      return textOf(window.value.message);
    });
    row.check("100 MB/s on stderr: the response after it", "served", flood.value, flood.value === "stderr");
    row.check("memory during this", "< + 32 MiB", `+ ${mib(flood.grown)}`, flood.grown < 32);
    const upset = summary(samples);
    row.check("errors of the other server", 0, upset.errors + calm.errors, upset.errors + calm.errors === 0);
    row.note(
      `p99 of the other server: ${ms(calm.p99)} before, ${ms(upset.p99)} under the flood (two processes write and read 100 MB/s on the same machine)`,
    );
  },
);
