/** `node bench/sandbox.mjs [STARTS]`: how long a process takes to start and end in a sandbox and without one, in turns. Linux, with bubblewrap. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "../scripts/build.mjs";

build();
const { SandboxedStarts } = await import("../build/features/sandbox/start-layer.js");
const { thisMachine, Trial } = await import("../build/features/sandbox/trial.js");

const starts = Number(process.argv[2] ?? 40);
const cwd = mkdtempSync(join(tmpdir(), "cardea-bench-sandbox-"));
const layer = new SandboxedStarts({
  home: homedir(),
  stateFolder: undefined,
  configFiles: () => [],
  trial: new Trial(thisMachine(process.env)),
  log: { warn: (_, sentence) => console.error(sentence) },
});

const settings = { network: false, required: true, write: [cwd], writesRoots: false, hide: [] };
const PROGRAMS = {
  true: { command: "true", args: [] },
  node: { command: process.execPath, args: ["-e", "0"] },
};

/** Milliseconds from the preparation to the end of the process. */
async function timed(program, features) {
  const begin = performance.now();
  const { command, args } = await layer.prepare({ name: "bench", features, env: {}, cwd, ...program });
  await new Promise((resolve, reject) => {
    spawn(command, args, { cwd, stdio: "ignore" })
      .once("error", reject)
      .once("exit", (code) => (code === 0 ? resolve() : reject(new Error(`${command} ended with ${code}`))));
  });
  return performance.now() - begin;
}

const median = (times) => times.sort((a, b) => a - b)[Math.floor(times.length / 2)];

console.log("program | without ms | in a sandbox ms | more ms | ratio");
for (const [name, program] of Object.entries(PROGRAMS)) {
  const [without, within] = [[], []];
  for (let at = -3; at < starts; at += 1) {
    const [bare, fenced] = [await timed(program, {}), await timed(program, { sandbox: settings })];
    if (at < 0) continue;
    without.push(bare);
    within.push(fenced);
  }
  const [bare, fenced] = [median(without), median(within)];
  console.log(
    `${name} | ${bare.toFixed(1)} | ${fenced.toFixed(1)} | ${(fenced - bare).toFixed(1)} | ${(fenced / bare).toFixed(2)}`,
  );
}
rmSync(cwd, { recursive: true, force: true });
