/** Machines that allow no sandbox, settings that cannot be met, and what operators read of it. */
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { probeServer } from "../../../src/cli/probe.js";
import { usableServers } from "../../../src/config/config.js";
import { bubblewrapArgs } from "../../../src/features/sandbox/bubblewrap.js";
import { seatbeltProfile } from "../../../src/features/sandbox/seatbelt.js";
import { SandboxedStarts } from "../../../src/features/sandbox/start-layer.js";
import { Trial, thisMachine } from "../../../src/features/sandbox/trial.js";
import { atHome } from "../../cli/at-home.js";
import { configOf } from "../../support/gateway.js";
import { fencedTest, folderWith, shellIn } from "./fenced.js";

const DENIED =
  "bwrap: No permissions to create new namespace, likely because the kernel does not allow non-privileged user namespaces.";
const UID_MAP = "bwrap: setting up uid map: Permission denied";

interface Machine {
  /** What bubblewrap writes before it fails; undefined if it is not installed. */
  readonly says?: string;
  readonly files?: Readonly<Record<string, string>>;
  readonly platform?: NodeJS.Platform;
  /** The machine of the test. */
  readonly isReal?: true;
}

/** How a start ends on such a machine: the error, what is logged, and what is started. */
async function startOn({ says, files = {}, platform = "linux", isReal }: Machine, server: object = {}) {
  const folder = folderWith({});
  const bin = join(folder, "bin");
  mkdirSync(bin);
  if (says !== undefined) {
    writeFileSync(join(bin, "bwrap"), `#!/bin/sh\ncat >&2 <<'END'\n${says}\nEND\nexit 1\n`);
    chmodSync(join(bin, "bwrap"), 0o755);
  }
  const config = configOf({ mcpServers: { shell: { ...shellIn(folder, {}), ...server } } });
  const [configured] = usableServers(config);
  if (configured === undefined) throw new Error("no server");
  const warnings: string[] = [];
  const machine = isReal
    ? thisMachine(process.env)
    : { platform, env: { PATH: bin }, read: (path: string) => files[path] };
  const starts = new SandboxedStarts({
    ...{ home: folder, stateFolder: undefined, configFiles: () => [], trial: new Trial(machine) },
    log: { warn: (_, sentence) => void warnings.push(sentence) },
  });
  const probed = await probeServer(configured, {
    ...{
      gateway: { name: "test", version: "0" },
      signal: new AbortController().signal,
      startLayers: [starts],
    },
  });
  const said = probed.error instanceof Error ? probed.error.message : "";
  return { said, warnings, isConnected: probed.connected !== undefined, starts };
}

test.for([
  [
    "Ubuntu 24.04",
    { says: UID_MAP, files: { "/proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1\n" } },
    "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
  ],
  [
    "a hardened Debian",
    { says: DENIED, files: { "/proc/sys/kernel/unprivileged_userns_clone": "0" } },
    "sudo sysctl -w kernel.unprivileged_userns_clone=1",
  ],
  [
    "no user namespaces at all",
    {
      says: "bwrap: Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces exceeded (ENOSPC)",
      files: { "/proc/sys/user/max_user_namespaces": "0" },
    },
    "sudo sysctl -w user.max_user_namespaces=15000",
  ],
  [
    "Docker",
    { says: DENIED, files: { "/.dockerenv": "" } },
    "--security-opt seccomp=unconfined --security-opt apparmor=unconfined",
  ],
  [
    "Docker with masked paths",
    {
      says: "bwrap: Can't mount proc on /newroot/proc: Operation not permitted",
      files: { "/.dockerenv": "" },
    },
    "--security-opt systempaths=unconfined",
  ],
  ["no bubblewrap", {}, "apt install bubblewrap"],
  [
    "a broken bubblewrap",
    { says: "bwrap: Unknown option --unshare-cgroup-try" },
    "bubblewrap fails: bwrap: Unknown option",
  ],
  ["Windows", { platform: "win32" }, "there is none for this platform (win32)"],
] as const)(
  "on %s the server does not start, and the reason names what to change",
  async ([, machine, advice]) => {
    const { said, isConnected } = await startOn(machine);
    expect(said).toContain("shell is not started: it cannot have its sandbox: ");
    expect(said).toContain(advice);
    expect(isConnected).toBe(false);
  },
);

test("with required: false it starts without, and one warning says why", async () => {
  const { isConnected, warnings, starts } = await startOn({ says: DENIED }, { sandbox: { required: false } });
  expect(isConnected).toBe(true);
  expect(warnings).toHaveLength(1);
  expect(warnings[0]).toContain(
    "shell runs without its sandbox: the machine allows bubblewrap no namespaces",
  );
  expect(starts.fencingOf("shell")).toMatchObject({ isFenced: false });
});

fencedTest(
  "a path in write that is not there, a hidden working directory, and a missing command are said",
  async () => {
    const folder = folderWith({});
    const reasonOf = async (server: object) => (await startOn({ isReal: true }, server)).said;
    const absent = join(folder, "absent");
    expect(await reasonOf(shellIn(folder, { write: [absent] }))).toContain(
      `sandbox.write names ${absent}, which does not exist`,
    );
    expect(await reasonOf(shellIn(folder, { hide: [folder] }))).toContain("is hidden from it by its sandbox");
    expect(await reasonOf({ command: "no-such-program", cwd: folder, sandbox: {} })).toContain(
      "command not found in its sandbox: no-such-program",
    );
  },
);

test("the config refuses a sandbox without a process, and the whole file system", () => {
  const problemOf = (server: object) => () => configOf({ mcpServers: { one: server } });
  expect(problemOf({ url: "https://example.com/mcp", sandbox: {} })).toThrow(
    /only servers with a \\"command\\" have/,
  );
  expect(problemOf({ command: "x", sandbox: { write: ["/"] } })).toThrow(/names \/ in sandbox.write/);
});

test("bubblewrap mounts shorter paths first, and seals hidden folders after what is mounted in them", () => {
  const places = [
    { path: "/home/me", access: "none", isFolder: true },
    { path: "/home/me/work", access: "write", isFolder: true },
    { path: "/home/me/work/.env", access: "none", isFolder: false },
  ] as const;
  const args = bubblewrapArgs({ network: false, places, cwd: "/home/me/work" }, ["/tmp"]).join(" ");
  expect(args).toContain(
    "--tmpfs /tmp --tmpfs /home/me --bind /home/me/work /home/me/work --ro-bind /dev/null /home/me/work/.env --remount-ro /home/me",
  );
  expect(args).toContain("--unshare-net");
});

test("the profile for macOS denies writes but where they are allowed, and hides what is hidden", () => {
  const places = [
    { path: "/Users/me/work", access: "write", isFolder: true },
    { path: '/Users/me/work/a"b', access: "none", isFolder: false },
  ] as const;
  const profile = seatbeltProfile({ network: false, places });
  expect(profile.split("\n").slice(-3)).toEqual([
    '(allow file-read* (subpath "/Users/me/work"))',
    '(allow file-write* (subpath "/Users/me/work"))',
    '(deny file-read* file-write* (literal "/Users/me/work/a\\"b"))',
  ]);
  expect(profile).toContain("(deny file-write*)\n");
  expect(profile).toContain("(deny network*)");
  expect(seatbeltProfile({ network: true, places })).not.toContain("(deny network*)");
});

test("cardea add --sandbox writes one that writes the folders of the arguments, and the network for servers with keys", async () => {
  const { run, read } = atHome({ CARDEA_UNPINNED: "1" });
  await run("add", "fs", "--sandbox", "--", "node", "server.js", "./", "/usr");
  await run("add", "api", "--sandbox", "--env", "KEY=1", "--", "node", "api.js");
  const { mcpServers } = JSON.parse(read("work/cardea.jsonc")) as {
    mcpServers: Record<string, { sandbox: object }>;
  };
  expect(mcpServers.fs?.sandbox).toEqual({ network: false, write: ["./", "/usr"] });
  expect(mcpServers.api?.sandbox).toEqual({ network: true, write: [] });
});

test("doctor names the local servers that are not fenced in one line, and check what a sandbox does not hide", async () => {
  const { adviseOn, findingsOn } = await import("../../../src/features/sandbox/advice.js");
  const config = configOf({
    mcpServers: {
      one: { command: "node" },
      two: { command: "node" },
      boxed: { command: "docker", args: ["run", "-i", "mcp/time"] },
      fenced: { command: "node", sandbox: { hide: ["/no/such/folder"], write: ["roots"] } },
      remote: { url: "https://example.com/mcp" },
    },
  });
  const findings = findingsOn(config) ?? [];
  expect(findings.map(({ ok, sentence }) => [ok, sentence.split(";")[0]])).toEqual([
    [true, "not fenced: one, two"],
  ]);
  const advice = adviseOn(config).map(({ server, message }) => `${server}: ${message}`);
  expect(advice).toEqual([
    expect.stringContaining("fenced: its sandbox does not hide /no/such/folder, which is not there"),
    expect.stringContaining('fenced: "roots" in sandbox.write is its working directory'),
  ]);
});
