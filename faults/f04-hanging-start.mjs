/** F4: servers hang when they are greeted. */

import { Host, textOf } from "../test/support/host/host.mjs";
import { startGateway } from "./support/gateway.mjs";
import { ms, row, until } from "./support/row.mjs";
import { httpServer, stdioServer } from "./support/servers.mjs";
import { httpUpstream } from "./upstreams/http.mjs";

await row("F4", "servers that hang in `initialize` and `server/discover`", async (row) => {
  const hanging = row.own(await httpUpstream({ intercept: () => new Promise(() => {}) }));
  const web = row.own(await httpUpstream());
  const others = { pipe: stdioServer(), web: httpServer(web) };
  // What a start takes on this machine.
  const alone = await startGateway({ mcpServers: others });
  await alone.met("pipe", "web");
  const { startedMs } = alone;
  await alone.stop();
  const why = `this machine needs ${ms(startedMs)} for a start without them`;

  const begun = performance.now();
  const gateway = row.own(
    await startGateway({
      startupWait: "500ms",
      mcpServers: { deaf: stdioServer(["--at-start", "hang"]), hollow: httpServer(hanging), ...others },
    }),
  );
  row.shortfall("ready line after", "not delayed: <= 1 s", ms(gateway.startedMs), {
    ...{ met: gateway.startedMs <= 1000, bearable: gateway.startedMs <= 1.5 * startedMs, why },
  });
  for (const era of ["legacy", "modern"]) {
    const host = new Host(gateway.url, era);
    const { ms: opened } = await until("a session", () => host.open());
    const served = async () => {
      const texts = await Promise.all(
        ["pipe__echo", "web__echo"].map(async (tool) =>
          textOf((await host.call(tool, { text: era })).message),
        ),
      );
      return texts.every((text) => text === era);
    };
    await until("both others to serve", served);
    const total = performance.now() - begun;
    // The first list waits for the servers that hang, up to startupWait.
    await host.list("tools");
    const again = performance.now();
    const listed = await host.list("tools");
    const listMs = performance.now() - again;
    const figure = `${ms(total)} (its handshake took ${ms(opened)})`;
    const isListed = listed.some(({ name }) => name.startsWith("pipe__"));
    row.shortfall(`the others serve a ${era} host`, "within 2 s of start", figure, {
      met: total <= 2000 && isListed,
      bearable: isListed && total <= 1000 + 1.5 * startedMs,
      why,
    });
    row.timing("the second list", "<= 100 ms", ms(listMs), listMs <= 100);
  }
  const { status } = await gateway.get("/readyz");
  row.check("/readyz", 200, status, status === 200);
});
