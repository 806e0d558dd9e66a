/** L6: sessions of older hosts come and go. */
import { startGateway } from "./support/gateway.mjs";
import { Host, newAgent, textOf } from "./support/host.mjs";
import { mib, pause, row, slope } from "./support/row.mjs";
import { stdioServer } from "./support/servers.mjs";

await row("L6", "1,000 sessions stand, 200 more are opened and ended each second", async (row) => {
  const gateway = row.own(await startGateway({ mcpServers: { pipe: stdioServer() } }, { probe: true }));
  await gateway.met("pipe");
  const agent = newAgent();
  const standing = await Promise.all(
    Array.from({ length: 1_000 }, () => Host.open(gateway.url, "legacy", agent)),
  );
  const seconds = row.quick ? 15 : 75;
  const points = [];
  let churned = 0;
  let failed = 0;
  const one = async () => {
    try {
      const host = await Host.open(gateway.url, "legacy", agent);
      const { message } = await host.call("pipe__echo", { text: host.session });
      if (textOf(message) !== host.session) failed += 1;
      await host.close();
      churned += 1;
    } catch {
      failed += 1;
    }
  };
  const begun = performance.now();
  let due = 0;
  const open = new Set();
  while (performance.now() - begun < seconds * 1000) {
    const now = (performance.now() - begun) / 1000;
    for (; due < now * 200; due += 1) {
      const running = one().finally(() => open.delete(running));
      open.add(running);
    }
    if (now > seconds / 5 && (points.length === 0 || now - points.at(-1)[0] > seconds / 15)) {
      points.push([now, await gateway.heapMiB()]);
    }
    await pause(5);
  }
  await Promise.all(open);
  row.check(
    "sessions opened and ended",
    `${seconds * 200}, none failed`,
    `${churned}, ${failed} failed`,
    failed === 0 && churned >= seconds * 180,
  );
  const sessions = await gateway.metric("cardea_sessions", { era: "legacy" });
  row.check("sessions left", 1000, sessions, sessions === 1000);
  const growth = slope(points) * 600;
  const figure = `+ ${mib(growth)} in 10 min (${mib(points[0][1])} to ${mib(points.at(-1)[1])})`;
  if (row.quick) row.note(`heap: ${figure}; so short a time says little of a slope`);
  else row.check("heap after warm-up", "< + 1 MiB in 10 min", figure, growth < 1);
  row.note(`the slope is that of ${seconds} s and ${churned} sessions, drawn out to 10 min`);
  const { message } = await standing[500].call("pipe__echo", { text: "still here" });
  row.check("a session that stood all the time", "serves", textOf(message), textOf(message) === "still here");
});
