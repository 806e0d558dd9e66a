/** F26: lists that are long, large, double, and without an end. */
import { writeFileSync } from "node:fs";
import { openHost, textOf } from "../test/support/host/host.mjs";
import { startGateway } from "./support/gateway.mjs";
import { peakMiB, rssMiB } from "./support/processes.mjs";
import { mib, ms, row, until } from "./support/row.mjs";
import { httpServer, stdioServer } from "./support/servers.mjs";
import { httpUpstream } from "./upstreams/http.mjs";

const tool = (name, description = "does what it does") => ({
  name,
  description,
  inputSchema: { type: "object" },
});

/** A server whose list comes in pages as `page(number)` says; how many were asked for is counted. */
async function paged(page) {
  const upstream = await httpUpstream({ era: "legacy" });
  const pages = { asked: 0 };
  upstream.intercept = (_request, response, message) => {
    if (message.method !== "tools/list") return false;
    pages.asked += 1;
    const number = Number(message.params?.cursor ?? 0);
    const body = JSON.stringify({ jsonrpc: "2.0", id: message.id, result: page(number) });
    response.writeHead(200, { "content-type": "application/json" }).end(body);
    return true;
  };
  return Object.assign(upstream, { pages });
}

await row(
  "F26",
  "10,000 tools, 1 MiB of description, duplicates, 500 pages, endless cursors",
  async (row) => {
    const many = row.own(
      await paged(() => ({ tools: Array.from({ length: 10_000 }, (_, i) => tool(`tool_${i}`)) })),
    );
    const wordy = row.own(
      await paged(() => ({ tools: [tool("wordy", "w".repeat(1_048_576)), tool("terse")] })),
    );
    const double = row.own(
      await paged(() => ({
        tools: [tool("same", "first"), tool("same", "second"), tool("other"), tool("same", "third")],
      })),
    );
    const long = row.own(
      await paged((number) => ({
        tools: [tool(`p${number}`)],
        ...(number < 499 && { nextCursor: String(number + 1) }),
      })),
    );
    const endless = row.own(
      await paged((number) => ({ tools: [tool(`e${number}`)], nextCursor: String(number + 1) })),
    );
    const circle = row.own(
      await paged((number) => ({ tools: [tool(`c${number}`)], nextCursor: String((number + 1) % 3) })),
    );
    const calm = row.own(await startGateway({ mcpServers: { well: stdioServer() } }, { probe: true }));
    await calm.met("well");
    await calm.ask("heap");
    const base = rssMiB(calm.pid);
    await calm.stop();

    const cold = {};
    const measure = async (name, upstream, count) => {
      const gateway = await startGateway({
        mcpServers: { well: stdioServer(), [name]: httpServer(upstream) },
      });
      await gateway.met("well");
      const host = await openHost(gateway.url, "modern");
      const { ms: took } = await until(
        `${count} tools of ${name}`,
        async () =>
          (await host.list("tools")).filter((one) => one.name.startsWith(`${name}__`)).length >= count,
        15_000,
        5,
      );
      cold[name] = took;
      await gateway.stop();
    };
    await measure("many", many, 10_000);
    row.timing("10,000 tools, merged after", "<= 2 s", ms(cold.many), cold.many <= 2000);
    await measure("long", long, 500);
    row.timing("500 pages, read after", "<= 2 s", ms(cold.long), cold.long <= 2000);

    const config = {
      mcpServers: {
        well: stdioServer(),
        many: httpServer(many),
        wordy: httpServer(wordy),
        double: httpServer(double),
        long: httpServer(long),
        endless: httpServer(endless),
        circle: httpServer(circle),
      },
    };
    const gateway = row.own(await startGateway(config, { probe: true }));
    writeFileSync(`/proc/${gateway.pid}/clear_refs`, "5");
    await gateway.met("well", "many", "wordy", "double", "long", "endless", "circle");
    const host = await openHost(gateway.url, "modern");
    const { ms: whole } = await until(
      "all lists",
      async () => {
        const names = (await host.list("tools")).map(({ name }) => name);
        return [
          "many__tool_9999",
          "wordy__wordy",
          "double__same",
          "long__p499",
          "endless__e999",
          "circle__c2",
        ].every((one) => names.includes(one));
      },
      20_000,
      50,
    );
    row.note(`all lists merged after ${ms(whole)}`);
    const tools = await host.list("tools");
    const of = (name) => tools.filter((one) => one.name.startsWith(`${name}__`));
    const same = of("double").filter(({ name }) => name === "double__same");
    row.check(
      "a name that is listed three times",
      "the first one, once",
      `${same.length}: ${same[0]?.description}`,
      same.length === 1 && same[0].description === "first",
    );
    row.check(
      "a description of 1 MiB",
      "arrives complete",
      of("wordy")[0]?.description.length,
      of("wordy").length === 2 && of("wordy")[0].description.length === 1_048_576,
    );
    row.check(
      "an endless cursor",
      "cut at 1,000 pages",
      `${of("endless").length} tools, ${endless.pages.asked} pages`,
      of("endless").length === 1000 && endless.pages.asked <= 1000,
    );
    row.check(
      "a cyclic cursor",
      "cut when it repeats",
      `${of("circle").length} tools, ${circle.pages.asked} pages`,
      of("circle").length === 3 && circle.pages.asked <= 4,
    );
    const order = (list) => list.map(({ name }) => name).join(" ");
    const again = await host.list("tools");
    const reordered = row.own(await startGateway(config));
    await reordered.met("well", "many", "wordy", "double", "long", "endless", "circle");
    const second = await openHost(reordered.url, "legacy");
    await until(
      "the same lists",
      async () => (await second.list("tools")).length === tools.length,
      20_000,
      50,
    );
    row.check(
      "order",
      "the same in every run, and in another process",
      "compared",
      order(tools) === order(again) && order(tools) === order(await second.list("tools")),
    );
    await gateway.ask("heap");
    const [peak, rest] = [peakMiB(gateway.pid) - base, rssMiB(gateway.pid) - base];
    row.check(
      "memory for 11,500 tools",
      "bounded: <= + 200 MiB at the most, <= + 100 MiB at rest",
      `+ ${mib(peak)}, + ${mib(rest)}`,
      peak <= 200 && rest <= 100,
    );
    const { message, ms: call } = await host.call("well__echo", { text: "still" });
    row.check(
      "a call meanwhile",
      "served",
      `${textOf(message)} after ${ms(call)}`,
      textOf(message) === "still",
    );
  },
);
