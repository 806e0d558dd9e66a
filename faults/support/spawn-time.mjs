/** How long does `spawn` block a Node process of a given size on this machine? */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const ROUNDS = 15;

/** The median in ms for a process that holds `mib` MiB. It runs in a process of its own. */
export async function spawnTime(mib) {
  const program = fileURLToPath(import.meta.url);
  const { stdout } = await promisify(execFile)(process.execPath, [program, String(Math.round(mib))]);
  return Number(stdout);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  // An empty Node process has about 45 MiB.
  const held = Array.from({ length: Math.max(0, Number(process.argv[2]) - 45) }, () =>
    Buffer.alloc(1_048_576, 1),
  );
  const times = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const begun = performance.now();
    const child = spawn("true");
    times.push(performance.now() - begun);
    await once(child, "close");
  }
  times.sort((a, b) => a - b);
  held.length = 0;
  console.log(times[Math.floor(ROUNDS / 2)]);
}
