/** How a process is known again, on systems of either kind. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { expect, onTestFinished, test } from "vitest";
import { startTimesOf } from "../../src/runtime/process-start-times.js";

const hasPs = spawnSync("ps", ["-p", String(process.pid)]).status === 0;
const platforms = [
  ...(process.platform === "linux" ? (["linux"] as const) : []),
  ...(hasPs ? (["darwin"] as const) : []),
];

test.each(platforms)(
  "on %s a running process has one start time, and an ended one is omitted",
  async (platform) => {
    const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]);
    onTestFinished(() => void child.kill("SIGKILL"));
    await once(child, "spawn");
    const pid = child.pid ?? 0;
    const first = await startTimesOf([process.pid, pid, 4_194_303], platform);
    expect([...first.keys()].sort((a, b) => a - b)).toEqual([process.pid, pid].sort((a, b) => a - b));
    expect(await startTimesOf([pid, process.pid], platform)).toEqual(first);
    child.kill("SIGKILL");
    await once(child, "close");
    expect([...(await startTimesOf([process.pid, pid], platform)).keys()]).toEqual([process.pid]);
  },
);

test("on Windows no start time is known, and without pids nothing is read", async () => {
  expect(await startTimesOf([process.pid], "win32")).toEqual(new Map());
  expect(await startTimesOf([], "darwin")).toEqual(new Map());
});
