/** F2: a server's process ends as soon as it starts, for ever. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { openHost } from "../test/support/host/host.mjs";
import { startGateway } from "./support/gateway.mjs";
import { cpuMs } from "./support/processes.mjs";
import { pause, row } from "./support/row.mjs";
import { stdioServer } from "./support/servers.mjs";

const BACKOFF = [1, 2, 4, 8, 16, 32, 60];

await row("F2", "a stdio server that always exits at start", async (row) => {
  const note = join(row.folder, "starts");
  const gateway = row.own(
    await startGateway({
      mcpServers: { dead: stdioServer(["--at-start", "die", "--note", note]), well: stdioServer() },
    }),
  );
  await gateway.met("well");
  const steps = row.quick ? BACKOFF.slice(0, 4) : BACKOFF;
  const watchMs = steps.reduce((sum, seconds) => sum + seconds * 1200, 0) + 2000;
  // The first seconds belong to the start of the program itself.
  await pause(3000);
  const [cpu, at] = [cpuMs(gateway.pid), performance.now()];
  await pause(watchMs - 3000);
  const share = (cpuMs(gateway.pid) - cpu) / (performance.now() - at);

  // Every attempt that has failed is a line of the log. What lies between two is the wait and the attempt itself, which takes a
  // process or two.
  const lines = gateway.log().filter(({ server, retryInMs }) => server === "dead" && retryInMs !== undefined);
  const due = lines.slice(1, steps.length + 1).map(({ time }, i) => (time - lines[i].time) / 1000);
  const fits = due.every((wait, i) => wait >= steps[i] * 0.8 && wait <= steps[i] * 1.2 + 1);
  row.timing(
    "restarts after",
    `${steps.join(", ")} s ± 20 %, and up to 1 s for the attempt`,
    `${due.map((wait) => wait.toFixed(1)).join(", ")} s`,
    fits && due.length === steps.length,
  );
  const starts = readFileSync(note, "utf8").trim().split("\n").length;
  row.check(
    "processes started",
    `one or two for each attempt (${lines.length})`,
    starts,
    starts >= lines.length && starts <= 2 * (lines.length + 1),
  );
  row.check("CPU during this", "< 2 %", `${(share * 100).toFixed(2)} %`, share < 0.02);
  const { status } = await gateway.get("/readyz");
  row.check("/readyz, server not required", "200", status, status === 200);
  const host = await openHost(gateway.url, "modern");
  const names = (await host.list("tools")).map(({ name }) => name);
  const others = names.every((name) => name.startsWith("well__"));
  row.check("tools listed", "those of the other server", `${names.length}`, others && names.length > 0);
  const counted = await gateway.metric("cardea_upstream_restarts_total", {
    server: "dead",
    reason: "failed_start",
  });
  row.check("restarts in the metric", lines.length - 1, counted, counted === lines.length - 1);
});
