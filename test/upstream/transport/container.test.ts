/** A server in a container that ignores the end of its input and SIGTERM; `docker` is a program of this test. */
import { chmodSync, existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { ProcessGroups } from "../../../src/upstream/transport/process-group.js";
import { openStdioChannel } from "../../../src/upstream/transport/stdio.js";
import { until } from "../../support/until.js";

/**
 * Starts a process that is no descendant in its group, as the engine does, writes its pid as the id, hands signals on, and ends
 * with it.
 */
const DOCKER = `#!${process.execPath}
const { spawn } = require("node:child_process");
const { appendFileSync, writeFileSync } = require("node:fs");
const { join, dirname } = require("node:path");
const words = process.argv.slice(2);
appendFileSync(join(dirname(process.argv[1]), "log"), JSON.stringify(words) + "\\n");
if (words[0] === "kill") {
  process.kill(Number(words[1]), "SIGKILL");
} else {
  const container = spawn(process.execPath, ["-e", \`
    process.on("SIGTERM", () => {});
    require("node:net").createServer().listen(0, "127.0.0.1");
    console.log(JSON.stringify({ jsonrpc: "2.0", method: "ready" }));
  \`], { detached: true, stdio: ["ignore", "pipe", "ignore"] });
  container.stdout.pipe(process.stdout);
  const at = words.indexOf("--cidfile");
  const own = words.find((word) => word.startsWith("--cidfile="));
  writeFileSync(at === -1 ? own.slice("--cidfile=".length) : words[at + 1], String(container.pid), { flag: "wx" });
  process.on("SIGTERM", () => process.kill(container.pid, "SIGTERM"));
  process.stdin.resume();
  container.on("exit", (code) => process.exit(code ?? 137));
}
`;

function engine(name = "docker") {
  const folder = mkdtempSync(join(tmpdir(), "cardea-engine-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const command = join(folder, name);
  writeFileSync(command, DOCKER);
  chmodSync(command, 0o755);
  const log = (): string[][] =>
    existsSync(join(folder, "log"))
      ? readFileSync(join(folder, "log"), "utf8")
          .trim()
          .split("\n")
          .map((line) => JSON.parse(line) as string[])
      : [];
  return { folder, command, log };
}

const runs = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

async function started(command: string, args: readonly string[], cwd: string) {
  let isReady = false;
  const channel = await openStdioChannel({
    ...{ name: "box", command, args, env: {}, cwd, graceMs: 50, processes: new ProcessGroups() },
    onUnmatchedMessage: () => {},
  });
  channel.listen(() => {
    isReady = true;
  });
  await until("the container to run", () => isReady);
  return channel;
}

test.each([
  ["docker", ["run", "-i", "--rm", "image", "serve"], 1],
  ["podman", ["container", "run", "-i", "image"], 2],
])("%s %j: the container is killed by its id, and nothing is left", async (name, args, at) => {
  const { command, log, folder } = engine(name);
  const channel = await started(command, args, folder);
  const [words = []] = log();
  expect(words.toSpliced(at, 2)).toEqual(args);
  expect(words[at]).toBe("--cidfile");
  const idFile = words[at + 1] ?? "";
  const pid = Number(readFileSync(idFile, "utf8"));
  expect(runs(pid)).toBe(true);
  await channel.close();
  expect(log().at(-1)).toEqual(["kill", String(pid)]);
  await until("the container to be gone", () => !runs(pid));
  expect(existsSync(idFile)).toBe(false);
});

test("a file for the id that the config names is used, and stays", async () => {
  const { command, log, folder } = engine();
  const idFile = join(folder, "id");
  const channel = await started(command, ["run", `--cidfile=${idFile}`, "-i", "image"], folder);
  expect(log()[0]).toEqual(["run", `--cidfile=${idFile}`, "-i", "image"]);
  const pid = Number(readFileSync(idFile, "utf8"));
  await channel.close();
  await until("the container to be gone", () => !runs(pid));
  expect(existsSync(idFile)).toBe(true);
});

test("other commands get their arguments as they are", async () => {
  const { command, log, folder } = engine();
  await openStdioChannel({
    ...{ name: "box", command, args: ["kill", "x"], env: {}, cwd: folder, graceMs: 50 },
  }).then((channel) => channel.closed);
  expect(log()).toEqual([["kill", "x"]]);
});
