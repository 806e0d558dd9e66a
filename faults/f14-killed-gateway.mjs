/** F14: the gateway itself is killed; its children are left to themselves. */
import { join } from "node:path";
import { MAIN, startGateway } from "./support/gateway.mjs";
import { descendants, isAlive, start } from "./support/processes.mjs";
import { ms, pause, row, until } from "./support/row.mjs";
import { stdioServer } from "./support/servers.mjs";

await row("F14", "`kill -9` of the gateway", async (row) => {
  const state = join(row.folder, "state");
  const config = {
    mcpServers: {
      good: stdioServer(),
      old: stdioServer(["--era", "legacy"]),
      stubborn: stdioServer(["--stubborn"]),
    },
  };
  const stubbornOf = (pid) => descendants(pid).find((one) => one.command.includes("--stubborn"))?.pid;
  const first = row.own(await startGateway(config, { state }));
  await first.met("good", "old", "stubborn");
  const stubborn = stubbornOf(first.pid);
  const well = descendants(first.pid)
    .map(({ pid }) => pid)
    .filter((pid) => pid !== stubborn);
  row.own({ stop: async () => void (isAlive(stubborn) && process.kill(stubborn, "SIGKILL")) });
  const killed = performance.now();
  process.kill(first.pid, "SIGKILL");
  await until("the children to be gone", () => !well.some(isAlive), 10_000).catch(() => {});
  const gone = performance.now() - killed;
  row.check("children that exit at end of stdin gone after", "<= 5 s", ms(gone), gone <= 5000);
  row.check(
    "the child that ignores it",
    "still there",
    isAlive(stubborn) ? "still there" : "gone",
    isAlive(stubborn),
  );

  // The next start reports it, once it had time to exit, and leaves it alone; foreign processes are never touched.
  const second = row.own(await startGateway(config, { state }));
  await until("the report", () => second.log().some(({ pid }) => pid === stubborn), 8_000).catch(() => {});
  const report = second.log().find(({ pid }) => pid === stubborn);
  row.check(
    "reported at the next start",
    `server and pid ${stubborn}`,
    report === undefined ? "not named" : `${report.server}: ${report.msg}`,
    report?.server === "stubborn",
  );
  row.check("and not killed", "alive", isAlive(stubborn) ? "alive" : "gone", isAlive(stubborn));
  const metric = await second.metric("cardea_orphaned_processes");
  row.check("counted in a metric", 1, metric ?? "no such metric", metric === 1);
  await second.met("stubborn");
  const two = stubbornOf(second.pid);
  await second.stop();
  row.check(
    "the second gateway's own child after SIGTERM",
    "gone",
    isAlive(two) ? "alive" : "gone",
    !isAlive(two),
  );

  // With `--reap` it is ended before anything is started.
  const third = row.own(await startGateway(config, { state, flags: ["--reap"] }));
  await until("it to be gone", () => !isAlive(stubborn), 5_000).catch(() => {});
  row.check("with --reap", "gone", isAlive(stubborn) ? "alive" : "gone", !isAlive(stubborn));
  await third.met("good", "old", "stubborn");

  // A process that happens to have the same pid by now is not one of ours.
  const stranger = row.own(start(process.execPath, ["-e", "setInterval(() => {}, 1000)"]));
  await third.stop();
  const { readdirSync, readFileSync, writeFileSync } = await import("node:fs");
  const folder = join(state, "cardea");
  const fourth = row.own(await startGateway(config, { state }));
  await fourth.met("good", "old", "stubborn");
  await pause(200);
  const records = readdirSync(folder, { recursive: true }).map((name) => join(folder, String(name)));
  const theirs = stubbornOf(fourth.pid);
  process.kill(fourth.pid, "SIGKILL");
  await pause(500);
  for (const file of records) {
    try {
      const text = readFileSync(file, "utf8");
      writeFileSync(file, text.replaceAll(String(theirs), String(stranger.pid)));
    } catch {
      // A folder, or gone by now.
    }
  }
  const fifth = row.own(await startGateway(config, { state, flags: ["--reap"] }));
  await fifth.met("good");
  await pause(300);
  row.check(
    "with --reap, an unrelated process with a recorded pid",
    "alive",
    isAlive(stranger.pid) ? "alive" : "gone",
    isAlive(stranger.pid),
  );
  process.kill(theirs, "SIGKILL");
  await fifth.stop();

  const bridge = start(
    process.execPath,
    [MAIN, "--port", "0", "--admin-port", "0", "--", process.execPath, ...stdioServer().args],
    { env: { ...process.env, XDG_STATE_HOME: state } },
  );
  row.own(bridge);
  await until("the bridge", () => /ready/.test(bridge.stderr));
  await until("its child", () => descendants(bridge.pid).length > 0);
  const [child] = descendants(bridge.pid);
  process.kill(bridge.pid, "SIGKILL");
  await until("its child to be gone", () => !isAlive(child.pid), 5_000).catch(() => {});
  row.check(
    "the child of a killed bridge",
    "gone",
    isAlive(child.pid) ? "alive" : "gone",
    !isAlive(child.pid),
  );
});
