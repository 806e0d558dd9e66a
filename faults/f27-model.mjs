/** F27: the life of all servers as a model, in ten thousand random sequences. */
import { fileURLToPath } from "node:url";
import { start } from "./support/processes.mjs";
import { row } from "./support/row.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));

await row(
  "F27",
  "random event sequences of a gateway and its servers, compared with a model (fast-check)",
  async (row) => {
    const runs = row.quick ? 500 : 10_000;
    // Several processes, because one uses one core; each begins with a seed of its own.
    const parts = 2;
    const programs = Array.from({ length: parts }, () =>
      start(
        process.execPath,
        [`${root}node_modules/vitest/vitest.mjs`, "run", "test/upstream/life-cycle.model.test.ts"],
        { cwd: root, env: { ...process.env, CARDEA_MODEL_RUNS: String(runs / parts), NO_COLOR: "1" } },
      ),
    );
    for (const program of programs) row.own(program);
    let said = "";
    for (const { child } of programs) child.stdout.setEncoding("utf8").on("data", (text) => (said += text));
    const exits = await Promise.all(programs.map(({ exited }) => exited));
    const good = exits.every(({ code }) => code === 0);
    if (!good) console.error(said.slice(-3000));
    const found = /Counterexample: .*/.exec(said)?.[0];
    row.check(
      "sequences that break a rule (each call answered once, one process for a server, no slot leaks)",
      `0 of ${runs}`,
      good ? `0 of ${runs}` : (found ?? "it did not run to its end"),
      good,
    );
  },
);
