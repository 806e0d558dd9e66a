/** However often servers crash, nothing is left of them: no process, no zombie, no descriptor. */
import "../features/admin/needed.js";
import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { allMet, inRepository, serve } from "../support/cardea.js";
import { descendantsOf } from "../support/processes.js";
import { TAKES_ALL } from "../support/sample.js";
import { until } from "../support/until.js";

const SERVERS = TAKES_ALL ? 12 : 4;
const CRASHES = 2;

/** The state letter of a process: `Z` for a zombie. */
const stateOf = (pid: number): string => {
  try {
    return /^State:\s+(\w)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? "gone";
  } catch {
    return "gone";
  }
};
const descriptorsOf = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length;

test.skipIf(process.platform !== "linux")(
  "crashes of servers leak no processes and no file descriptors",
  async () => {
    const args = [inRepository("test/support/servers/careless.mjs")];
    const entry = { command: process.execPath, args, start: "eager" };
    const servers = Array.from({ length: SERVERS }, (_, at): [string, object] => [`s${at}`, entry]);
    const gateway = await serve({ mcpServers: Object.fromEntries(servers) });
    const { pid } = gateway.process;
    /** The servers that run, once all of them do again. */
    const running = () =>
      until("every server", async () => {
        const ready = await allMet(gateway.admin);
        const children = descendantsOf(pid).filter((child) => stateOf(child) !== "Z");
        return ready && children.length === SERVERS && children;
      });
    try {
      let children = await running();
      const descriptors = descriptorsOf(pid);
      for (let crash = 0; crash < CRASHES; crash += 1) {
        const before = children;
        for (const child of before) process.kill(child, "SIGKILL");
        await until("their end", () => before.every((child) => stateOf(child) === "gone"));
        children = await running();
        expect(children.filter((child) => before.includes(child))).toEqual([]);
      }
      expect(descendantsOf(pid)).toHaveLength(SERVERS);
      // One of a file or a connection of the moment closes soon; what was left behind would stay.
      await until("as few descriptors as before", () => descriptorsOf(pid) <= descriptors + 2);
    } finally {
      const children = descendantsOf(pid);
      expect(await gateway.stop()).toEqual({ code: 0, signal: null });
      expect(children.filter((child) => stateOf(child) !== "gone")).toEqual([]);
    }
  },
);
