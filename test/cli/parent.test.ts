import "../features/admin/needed.js";
import { expect, test, vi } from "vitest";
import { wasStartedByNpm, watchParent } from "../../src/cli/parent.js";
import { MAIN } from "../support/cardea.js";
import { descendantsOf, isAlive, start } from "../support/processes.js";
import { until } from "../support/until.js";

test.each([
  [{ npm_lifecycle_event: "npx" }, true],
  [{ npm_lifecycle_event: "start", npm_package_name: "cardea" }, true],
  [{ npm_lifecycle_event: "start", npm_package_name: "somebody-elses" }, false],
  [{ npm_lifecycle_event: "serve-in-the-background", npm_package_name: "cardea" }, false],
  [{}, false],
])("%j: npm's shell is our parent process: %s", (env, expected) => {
  expect(wasStartedByNpm(env)).toBe(expected);
});

test("the exit of the parent process is reported once", () => {
  vi.useFakeTimers();
  try {
    const source = { ppid: 7 };
    const lost = vi.fn();
    watchParent(lost, source);
    vi.advanceTimersByTime(5_000);
    expect(lost).not.toHaveBeenCalled();
    source.ppid = 1;
    vi.advanceTimersByTime(5_000);
    expect(lost).toHaveBeenCalledOnce();
  } finally {
    vi.useRealTimers();
  }
});

test.skipIf(process.platform === "win32")(
  "the gateway exits with the shell of npx, also when the shell does not forward its signal",
  async () => {
    const shell = start(
      "sh",
      ["-c", `"${process.execPath}" "${MAIN}" --port 0 --admin-port 0 -- cat; true`],
      {
        env: { PATH: process.env.PATH, npm_lifecycle_event: "npx" },
      },
    );
    await shell.says(/ready: /);
    const [gateway = -1] = descendantsOf(shell.pid);
    shell.child.kill("SIGTERM");
    await until("the end of the gateway", () => !isAlive(gateway));
    // Its last words may still be on their way to us.
    await shell.says(/SIGTERM: draining: no new calls/);
  },
);
