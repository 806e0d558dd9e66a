/** What is known of servers is kept between two runs of the gateway, in files that are used only where nothing speaks against it. */
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { ServerConfig } from "../../../src/config/config.js";
import { identityOf } from "../../../src/config/server-identity.js";
import { SILENT } from "../../../src/core/logger.js";
import type { PersistedServer } from "../../../src/core/persisted-lists.js";
import { ListFiles, type ListFilesOptions } from "../../../src/features/kept-lists/list-files.js";
import { writeStateKey } from "../../../src/state/state-key.js";
import { serverConfig } from "../../support/fake-channel.js";

let home: string;
let folder: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "cardea-lists-"));
  folder = join(home, "state", "lists");
});
afterEach(() => rmSync(home, { recursive: true }));

const DAY_MS = 24 * 3_600_000;
const SERVER = serverConfig({});

const knowing = (tool: string, memory?: object): PersistedServer => ({
  ...(memory !== undefined && { memory: { ...memory } }),
  startFailed: false,
  scopes: new Map([
    [
      "shared",
      new Map([
        [
          "tools",
          {
            items: [{ name: tool, inputSchema: { type: "object" } }],
            malformed: [],
            freshness: { ttlMs: 0, scope: "private" },
            hasTtl: false,
            fetchedAt: 5,
          },
        ],
      ]),
    ],
  ]),
});

interface Run {
  readonly files: ListFiles;
  readonly warnings: string[];
  readonly infos: string[];
}

/** One run of the gateway. */
function run(options: Partial<ListFilesOptions> = {}): Run {
  const warnings: string[] = [];
  const infos: string[] = [];
  const log = {
    ...SILENT,
    warn: (_: object, sentence: string) => void warnings.push(sentence),
    info: (_: object, sentence: string) => void infos.push(sentence),
  };
  return { files: new ListFiles({ folder, version: "1.2.3", log, ...options }), warnings, infos };
}

const keyOf = (server: ServerConfig) => ({ name: server.name, identity: identityOf(server) });

/** What this run finds of the server. */
const found = ({ files }: Run, server = SERVER) => files.open(keyOf(server)).known;

/** Keeps `known`, as a run does that ends at once. */
async function keep({ files }: Run, known: PersistedServer, server: ServerConfig = SERVER): Promise<void> {
  const kept = files.open(keyOf(server));
  kept.followMemory(() => known.memory);
  kept.followLists(() => known);
  kept.changed();
  await kept.close();
}

const names = (): readonly string[] => readdirSync(folder).filter((name) => name !== "key");
const file = (): string => join(folder, names()[0] ?? "");
const ageBy = (path: string, ms: number): void => {
  const then = new Date(Date.now() - ms);
  utimesSync(path, then, then);
};

describe("the cached state of a server", () => {
  test("is available in the next run", async () => {
    await keep(run(), knowing("add", { era: "legacy" }));
    const next = run();
    expect(found(next)).toEqual(knowing("add", { era: "legacy" }));
    expect(next.warnings).toEqual([]);
  });

  test("is readable by its user only", async () => {
    await keep(run(), knowing("add"));
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    for (const name of readdirSync(folder)) {
      expect([name, statSync(join(folder, name)).mode & 0o777]).toEqual([name, 0o600]);
    }
  });

  test("is found by the start parameters of the server, whatever its name", async () => {
    const transport = {
      kind: "stdio",
      command: "run",
      args: ["a"],
      env: { A: "1", B: "2" },
      cwd: "/",
    } as const;
    const server = { ...SERVER, transport };
    await keep(run(), knowing("add"), server);
    const same: Partial<ServerConfig>[] = [
      { name: "other" },
      { transport: { ...transport, env: { B: "2", A: "1" } } },
      { tools: { allow: [], deny: ["*"] }, timeoutMs: 1, connectTimeoutMs: 1, required: true },
    ];
    for (const change of same) expect(found(run(), { ...server, ...change })).toBeDefined();
    const others: Partial<ServerConfig>[] = [
      { transport: { ...transport, command: "walk" } },
      { transport: { ...transport, args: ["b"] } },
      { transport: { ...transport, env: { A: "1", B: "3" } } },
      { transport: { ...transport, cwd: "/tmp" } },
      { protocol: "legacy" },
      { lease: "shared" },
      { roots: [{ uri: "file:///a" }] },
    ];
    for (const change of others) expect(found(run(), { ...server, ...change })).toBeUndefined();
  });

  test("does not reveal the start parameters by its file name", async () => {
    await keep(run(), knowing("add"));
    const [name] = names();
    rmSync(folder, { recursive: true });
    await keep(run(), knowing("add"));
    expect(names()).not.toEqual([name]);
    expect(names()[0]).toMatch(/^[\da-f]{32}\.lists$/);
  });

  test("is not used for another server, even under the same name", async () => {
    await keep(run(), knowing("add"));
    const own = file();
    await keep(run(), knowing("sub"), { ...SERVER, protocol: "legacy" });
    const other =
      names()
        .map((name) => join(folder, name))
        .find((path) => path !== own) ?? "";
    renameSync(other, own);
    const next = run();
    expect(found(next)).toBeUndefined();
    expect(next.warnings).toEqual([expect.stringContaining("checksum")]);
  });

  test("is written once for all changes of a second, and not without changes", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const written: string[] = [];
      const createFile = async (path: string, text: readonly string[]): Promise<void> => {
        written.push(text.join(""));
        await writeFile(path, text, { mode: 0o600 });
      };
      const { files } = run({ createFile });
      const kept = files.open(keyOf(SERVER));
      let tool = "one";
      kept.followLists(() => knowing(tool));
      const wait = async (ms: number): Promise<void> => {
        await vi.advanceTimersByTimeAsync(ms);
        await files.close();
      };
      kept.changed();
      await wait(900);
      kept.changed();
      tool = "two";
      expect(written).toHaveLength(0);
      await wait(100);
      expect(written).toEqual([expect.stringContaining('"two"')]);
      kept.changed();
      await wait(10_000);
      expect(written).toHaveLength(1);
      tool = "three";
      kept.changed();
      await kept.close();
      expect(written).toEqual([expect.anything(), expect.stringContaining('"three"')]);
      // Also by the next run.
      const next = run({ createFile });
      await keep(next, knowing("three"));
      expect(written).toHaveLength(2);
    } finally {
      vi.useRealTimers();
    }
  });

  test("is written at most every ten seconds, with the last change", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    try {
      const written: string[] = [];
      const createFile = async (path: string, text: readonly string[]): Promise<void> => {
        written.push(text.join(""));
        await writeFile(path, text, { mode: 0o600 });
      };
      const { files } = run({ createFile });
      const kept = files.open(keyOf(SERVER));
      for (let second = 0; second < 25; second += 1) {
        kept.followLists(() => knowing(`tool ${second}`));
        kept.changed();
        await vi.advanceTimersByTimeAsync(1_000);
        await files.close();
      }
      expect(written.map((text) => /tool \d+/.exec(text)?.[0])).toEqual(["tool 0", "tool 10", "tool 20"]);
      await kept.close();
      expect(written.at(-1)).toContain('"tool 24"');
    } finally {
      vi.useRealTimers();
    }
  });

  test("is that of its last change, even if that happens during a write", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const begun: string[] = [];
      const proceed: (() => void)[] = [];
      const createFile = async (path: string, text: readonly string[]): Promise<void> => {
        begun.push(text.join(""));
        await new Promise<void>((resolve) => proceed.push(resolve));
        await writeFile(path, text, { mode: 0o600 });
      };
      const kept = run({ createFile }).files.open(keyOf(SERVER));
      for (const tool of ["one", "two"]) {
        kept.followLists(() => knowing(tool));
        kept.changed();
        await vi.advanceTimersByTimeAsync(10_000);
      }
      expect(begun).toHaveLength(1);
      const closed = kept.close();
      proceed[0]?.();
      await vi.waitFor(() => expect(begun).toHaveLength(2), { timeout: 60_000 });
      proceed[1]?.();
      await closed;
      expect(found(run())).toEqual(knowing("two"));
    } finally {
      vi.useRealTimers();
    }
  });

  test("is not written if it is larger than 16 MiB, which is logged once", async () => {
    const large = run();
    const kept = large.files.open(keyOf(SERVER));
    kept.followLists(() => knowing("x".repeat(17 * 1024 * 1024)));
    kept.changed();
    await kept.close();
    expect(large.infos).toEqual([expect.stringContaining("too large")]);
    expect(names()).toEqual([]);
  });

  test("is written again after its folder was deleted at runtime", async () => {
    const { files, warnings } = run();
    await keep({ files, warnings, infos: [] }, knowing("add"));
    rmSync(join(home, "state"), { recursive: true });
    await keep({ files, warnings, infos: [] }, knowing("sub"));
    expect(found(run())).toEqual(knowing("sub"));
    expect(warnings).toEqual([]);
  });
});

describe("an invalid file", () => {
  const isRoot = process.getuid?.() === 0;
  const spoil: Readonly<Record<string, readonly [spoil: () => void, reason: string]>> = {
    "that is empty": [() => truncateSync(file()), "cut, damaged or edited"],
    "that was cut": [() => truncateSync(file(), 200), "cut, damaged or edited"],
    "that was edited by hand": [
      () => writeFileSync(file(), readFileSync(file(), "utf8").replace('"add"', '"ADD"')),
      "its checksum is wrong",
    ],
    "of another version": [
      () => writeFileSync(file(), readFileSync(file(), "utf8").replace("lists 1 1.2.3", "lists 7 9.0.0")),
      "Cardea 9.0.0 wrote it in format 7",
    ],
    "that is huge": [() => truncateSync(file(), 5 * 1024 ** 3), "larger than"],
    "that others may write": [() => chmodSync(file(), 0o620), "permissions"],
    "that is a link to a good one": [
      () => {
        renameSync(file(), join(home, "elsewhere"));
        symlinkSync(join(home, "elsewhere"), join(folder, "name"));
        renameSync(join(folder, "name"), path);
      },
      "it is a link",
    ],
    "that is a pipe": [
      () => {
        rmSync(path);
        execFileSync("mkfifo", ["-m", "600", path]);
      },
      "it is no file",
    ],
    ...(isRoot && { "of another user": [() => chownSync(file(), 65_534, 65_534), "another user"] as const }),
  };
  let path: string;

  test.each(Object.keys(spoil))("%s is logged once, and written again", async (which) => {
    await keep(run(), knowing("add"));
    path = file();
    const [change, reason] = spoil[which] ?? [() => {}, ""];
    change();
    const next = run();
    expect(found(next)).toBeUndefined();
    expect(next.warnings).toEqual([expect.stringContaining(reason)]);
    expect(next.warnings[0]).toContain("are loaded again");
    await keep(next, knowing("sub"));
    expect(lstatSync(path).isFile()).toBe(true);
    expect(found(run())).toEqual(knowing("sub"));
  });

  test("that is a folder stays, and the other servers are cached", async () => {
    await keep(run(), knowing("add"));
    const taken = file();
    rmSync(taken);
    mkdirSync(join(taken, "mine"), { recursive: true });
    const next = run();
    expect(found(next)).toBeUndefined();
    await keep(next, knowing("sub"));
    await keep(next, knowing("mul"), { ...SERVER, protocol: "legacy" });
    expect(next.warnings).toEqual([
      expect.stringContaining("it is no file"),
      expect.stringContaining("it is no file"),
      expect.stringContaining("EISDIR"),
    ]);
    expect(existsSync(join(taken, "mine"))).toBe(true);
    expect(found(run(), { ...SERVER, protocol: "legacy" })).toEqual(knowing("mul"));
  });

  test("that is a link leaves the target unchanged", async () => {
    await keep(run(), knowing("add"));
    const [target, own] = [join(home, "precious"), file()];
    writeFileSync(target, "mine");
    rmSync(own);
    symlinkSync(target, own);
    await keep(run(), knowing("sub"));
    expect(readFileSync(target, "utf8")).toBe("mine");
  });
});

describe("a folder that cannot be used", () => {
  /** Runs with two servers, which must be served without it. */
  async function runsWithout(options: Partial<ListFilesOptions> = {}): Promise<readonly string[]> {
    const one = run(options);
    for (const server of [SERVER, { ...SERVER, protocol: "legacy" }]) {
      expect(one.files.open(keyOf(server)).known).toBeUndefined();
      await keep(one, knowing("add"), server);
    }
    await one.files.close();
    return one.warnings;
  }

  test("because a file is in its place is logged once", async () => {
    mkdirSync(join(home, "state"));
    writeFileSync(folder, "mine");
    expect(await runsWithout()).toEqual([expect.stringContaining("EEXIST")]);
    expect(readFileSync(folder, "utf8")).toBe("mine");
  });

  test("because the folder above it is a file is logged once", async () => {
    writeFileSync(join(home, "state"), "mine");
    expect(await runsWithout()).toEqual([expect.stringContaining("ENOTDIR")]);
  });

  test("because it is a link is not followed", async () => {
    mkdirSync(join(home, "state"));
    mkdirSync(join(home, "elsewhere"));
    symlinkSync(join(home, "elsewhere"), folder);
    expect(await runsWithout()).toEqual([expect.stringContaining("it is a link")]);
    expect(readdirSync(join(home, "elsewhere"))).toEqual([]);
  });

  test.each(["ENOSPC", "EROFS", "EDQUOT", "EIO"])(
    "any longer (%s) is logged once, and keeps its content",
    async (code) => {
      await keep(run(), knowing("add"));
      const createFile = async (path: string, text: readonly string[]): Promise<void> => {
        if (code !== "EROFS") await writeFile(path, text.join("").slice(0, 100));
        throw Object.assign(new Error("it failed"), { code });
      };
      const full = run({ createFile });
      expect(found(full)).toEqual(knowing("add"));
      await keep(full, knowing("sub"));
      await keep(full, knowing("mul"));
      expect(full.warnings).toEqual([expect.stringContaining(code)]);
      expect(names()).toHaveLength(1);
      expect(found(run())).toEqual(knowing("add"));
    },
  );

  test("because it does not respond delays the stop of the gateway by seconds only", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    try {
      const one = run({ createFile: () => new Promise(() => {}) });
      const closed = keep(one, knowing("add")).then(() => one.files.close());
      await vi.advanceTimersByTimeAsync(10_000);
      await closed;
      expect(names()).toEqual([]);
    } finally {
      vi.useRealTimers();
    }
  });

  test("temporarily is used as soon as possible", async () => {
    let isFull = true;
    const createFile = async (path: string, text: readonly string[]): Promise<void> => {
      if (isFull) throw Object.assign(new Error("no space"), { code: "ENOSPC" });
      await writeFile(path, text, { mode: 0o600 });
    };
    const { files } = run({ createFile });
    const kept = files.open(keyOf(SERVER));
    kept.followLists(() => knowing("add"));
    kept.changed();
    await kept.close();
    isFull = false;
    await keep({ files, warnings: [], infos: [] }, knowing("add"));
    expect(found(run())).toEqual(knowing("add"));
  });
});

describe("the key", () => {
  const key = (): string => join(folder, "key");

  test.each([
    ["others may read", () => chmodSync(key(), 0o644), "permissions"],
    ["is none", () => writeFileSync(key(), "secret"), "no key"],
    ["is empty", () => truncateSync(key()), "no key"],
    [
      "is a link",
      () => {
        renameSync(key(), join(home, "elsewhere"));
        symlinkSync(join(home, "elsewhere"), key());
      },
      "it is a link",
    ],
  ] as const)("that %s is replaced, and with it all files", async (_, spoil, reason) => {
    await keep(run(), knowing("add"));
    spoil();
    const next = run();
    expect(found(next)).toBeUndefined();
    expect(next.warnings).toEqual([expect.stringContaining(reason)]);
    await keep(next, knowing("sub"));
    const last = run();
    expect(found(last)).toEqual(knowing("sub"));
    expect(last.warnings).toEqual([]);
  });

  test("that is a folder disables the cache, which is logged once", async () => {
    mkdirSync(key(), { recursive: true });
    const one = run();
    expect([found(one), found(one)]).toEqual([undefined, undefined]);
    await keep(one, knowing("add"));
    expect(one.warnings).toHaveLength(1);
  });

  test("is that of the first of two gateways that create one concurrently", async () => {
    await keep(run(), knowing("add"));
    const before = readFileSync(key(), "utf8");
    writeStateKey(folder, "0".repeat(64));
    expect(readFileSync(key(), "utf8")).toBe(before);
    expect(readdirSync(folder).filter((name) => name.endsWith(".tmp"))).toEqual([]);
  });
});

describe("unused files", () => {
  const removed = async (): Promise<void> => {
    const { files } = run();
    files.open(keyOf(SERVER));
    await files.close();
  };

  test("of servers that were not used for 30 days are deleted at the start, and no others", async () => {
    await keep(run(), knowing("add"));
    const used = file();
    const [old, recent] = ["0", "1"].map((digit) => join(folder, `${digit.repeat(32)}.lists`)) as [
      string,
      string,
    ];
    const [foreign, link] = [join(folder, "notes.txt"), join(folder, `${"2".repeat(32)}.lists`)];
    for (const path of [old, recent, foreign]) writeFileSync(path, "x");
    symlinkSync(foreign, link);
    for (const path of [old, foreign, used]) ageBy(path, 31 * DAY_MS);
    ageBy(recent, 29 * DAY_MS);
    await removed();
    expect([old, recent, foreign, used].map(existsSync)).toEqual([false, true, true, true]);
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
  });

  test("are counted from the last run that used them", async () => {
    await keep(run(), knowing("add"));
    ageBy(file(), 20 * DAY_MS);
    found(run());
    expect(Date.now() - statSync(file()).mtimeMs).toBeLessThan(DAY_MS);
    ageBy(file(), 20 * DAY_MS);
    const { files } = run();
    await files.open(keyOf(SERVER)).close();
    expect(Date.now() - statSync(file()).mtimeMs).toBeLessThan(DAY_MS);
  });

  test("are deleted if they are temporary files of a gateway killed an hour ago", async () => {
    await keep(run(), knowing("add"));
    const draft = (digit: string): string => `${file()}.${digit.repeat(16)}.tmp`;
    const [old, recent] = [draft("0"), draft("1")];
    for (const path of [old, recent]) writeFileSync(path, "x");
    ageBy(old, 2 * 3_600_000);
    await removed();
    expect([old, recent].map(existsSync)).toEqual([false, true]);
  });

  test("are deleted beyond a thousand, least recently used first", async () => {
    await keep(run(), knowing("add"));
    for (let at = 0; at < 1_010; at += 1) {
      const path = join(folder, `${String(at).padStart(32, "0")}.lists`);
      writeFileSync(path, "");
      ageBy(path, (at + 1) * 1_000);
    }
    await removed();
    expect(names()).toHaveLength(1_000);
    expect(existsSync(join(folder, `${"1009".padStart(32, "0")}.lists`))).toBe(false);
    expect(found(run())).toEqual(knowing("add"));
  });
});
