/** Commands with a config in which the entry of one server is wrong. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { runCommandLine } from "../../src/cli/program.js";
import { isMisconfigured } from "../../src/config/config.js";
import { atTerminal } from "./at-home.js";
import { type FakeShellOptions, fakeShell } from "./fake-shell.js";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "cardea-misconfigured-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const GOOD = { command: "x" };
const UNSET = { command: "x", env: { K: "${NO_SUCH_KEY}" } };
const write = (file: object) => writeFileSync(join(folder, "cardea.json"), JSON.stringify(file));
const write2 = () => write({ mcpServers: { bad: UNSET, good: GOOD } });
const shellOf = (options: FakeShellOptions = {}) => fakeShell({ cwd: folder, ...options });

const PROBLEM = 'server "bad": env.K needs the variable NO_SUCH_KEY, which is not set and has no default';

describe("check", () => {
  test("exits with 78, names the server, and says that the other would start", async () => {
    write2();
    const shell = shellOf();
    expect(await runCommandLine(["check"], shell)).toBe(78);
    expect(shell.out()).toBe(
      `cardea.json:1:48: ${PROBLEM}\ncardea.json: 1 server is misconfigured and would not start: bad; 1 would\n`,
    );
  });

  test("lists it in its JSON", async () => {
    write2();
    const shell = shellOf();
    expect(await runCommandLine(["check", "--json"], shell)).toBe(78);
    expect(JSON.parse(shell.out())).toMatchObject({
      ok: false,
      servers: ["bad", "good"],
      misconfigured: ["bad"],
      problems: [{ file: "cardea.json", line: 1, column: 48, message: PROBLEM }],
    });
  });

  test.each([
    [["check"], {}, 0],
    [["check", "--strict"], {}, 78],
    [["check"], { CARDEA_STRICT: "1" }, 78],
    [["check", "--strict", "--json"], {}, 78],
  ] as const)("%j with %j and a config with a warning exits with %i", async (words, env, code) => {
    write({ mcpServers: { good: { command: "npx", args: ["-y", "some-server"] } } });
    const shell = shellOf({ env });
    expect(await runCommandLine([...words], shell)).toBe(code);
    expect(shell.out()).toContain("it runs whatever version");
    expect(shell.out().includes("all right")).toBe(code === 0);
  });
});

describe("serve", () => {
  test("starts with the others, and logs what is wrong", async () => {
    write2();
    const shell = shellOf();
    const ended = runCommandLine(["serve"], shell);
    await vi.waitFor(() => expect(shell.events).toContain("start"), { timeout: 60_000 });
    shell.signal("SIGTERM");
    expect(await ended).toBe(0);
    expect(shell.said).toContain(`error: cardea.json:1:48: ${PROBLEM}`);
    expect(shell.said).toContain(
      "error: 1 server is misconfigured and not started: bad; the other one is served",
    );
    expect(shell.configs[0]?.servers.map((server) => [server.name, isMisconfigured(server)])).toEqual([
      ["bad", true],
      ["good", false],
    ]);
  });

  test.each([
    ["a misconfigured server", { bad: UNSET, good: GOOD }, {}, PROBLEM],
    ["a warning", { good: { command: "npx", args: ["-y", "s"] } }, {}, "it runs whatever version"],
    ["a folder that is not there", { good: { command: "x", cwd: "/no/such" } }, {}, "its cwd"],
  ])("--strict does not start with %s", async (_, mcpServers, env, message) => {
    write({ mcpServers });
    const shell = shellOf({ env });
    expect(await runCommandLine(["serve", "--strict"], shell)).toBe(78);
    expect(shell.events).toEqual([]);
    expect(shell.said.join("\n")).toContain(message);
    expect(shell.said.at(-1)).toBe(
      "error: the gateway does not start: cardea.json has 1 problem or warning, and --strict allows none",
    );
  });

  test("--strict starts with a config that has neither, and refuses to reload one that has", async () => {
    write({ mcpServers: { good: GOOD } });
    const shell = shellOf();
    const ended = runCommandLine(["serve", "--strict"], shell);
    await vi.waitFor(() => expect(shell.events).toContain("start"), { timeout: 60_000 });
    write2();
    shell.signal("SIGHUP");
    await vi.waitFor(() => expect(shell.events).toContain("refused 1"), { timeout: 60_000 });
    shell.signal("SIGTERM");
    expect(await ended).toBe(0);
    expect(shell.said).toContain("error: the config stays as it was: cardea.json is not right");
  });

  test("without it a reload takes the others over", async () => {
    write({ mcpServers: { bad: GOOD, good: GOOD } });
    const shell = shellOf();
    const ended = runCommandLine(["serve"], shell);
    await vi.waitFor(() => expect(shell.events).toContain("start"), { timeout: 60_000 });
    write2();
    shell.signal("SIGHUP");
    await vi.waitFor(() => expect(shell.events).toContain("reload bad good"), { timeout: 60_000 });
    await vi.waitFor(() => expect(shell.said.join("\n")).toContain("in effect: servers: misconfigured bad"), {
      timeout: 60_000,
    });
    write({ mcpServers: { bad: GOOD, good: GOOD } });
    shell.signal("SIGHUP");
    await vi.waitFor(() => expect(shell.said.join("\n")).toContain("in effect: servers: started bad"), {
      timeout: 60_000,
    });
    shell.signal("SIGTERM");
    expect(await ended).toBe(0);
  });
});

test("doctor says where it is wrong and what to do, and starts the others only", async () => {
  write2();
  const probed: string[] = [];
  const shell = shellOf({
    examine: async ({ name }) => {
      probed.push(name);
      return { stderr: [], nonProtocolOutput: [], error: new Error("not examined") };
    },
  });
  expect(await runCommandLine(["doctor", "--json"], shell)).toBe(1);
  expect(probed).toEqual(["good"]);
  expect(JSON.parse(shell.out())).toMatchObject({
    servers: [
      {
        ...{ server: "bad", ok: false, cause: "misconfigured" },
        sentence: `its entry in the config is wrong, so it is not started: cardea.json:1:48: ${PROBLEM}`,
        advice: expect.stringContaining("set NO_SUCH_KEY in the environment"),
      },
      { server: "good" },
    ],
  });
});

describe("import at a terminal", () => {
  const host = {
    mcpServers: { a: { command: "x", env: { REGION: "${REGION}", KEY: "${API_KEY}", Z: "${Z:-1}" } } },
  };
  const importing = async (words: readonly string[], typed: readonly string[], env = {}) => {
    writeFileSync(join(folder, "host.json"), JSON.stringify(host));
    const shell = shellOf({ typed, env });
    expect(await runCommandLine(["import", "host.json", ...words], shell)).toBe(0);
    return shell;
  };

  test("asks for the values of variables that are not set, secrets only if they are printed", async () => {
    const { out, said } = await importing([], ["eu"]);
    expect(out()).toContain('"REGION": "eu"');
    expect(out()).toContain('"KEY": "${API_KEY}"');
    expect(out()).toContain("//   API_KEY");
    expect(said.join("\n")).not.toContain("API_KEY, or Enter");
    const plain = await importing(["--plain"], ["eu", "s3cret-value"]);
    expect(plain.out()).toContain('"KEY": "s3cret-value"');
    expect(plain.said.join("\n")).not.toContain("s3cret-value");
  });

  test("asks for nothing that is set or has a default, and leaves what is not answered", async () => {
    const { out, said } = await importing([], [""], { API_KEY: "x" });
    expect(out()).toContain('"REGION": "${REGION}"');
    expect(said.join("\n")).not.toMatch(/Z, or Enter/);
    const none = await importing([], [], { REGION: "eu" });
    expect(none.said.join("\n")).not.toContain("or Enter");
  });
});

test("init at a terminal asks for variables that are not set, and keeps secrets apart without an echo", async () => {
  // The values, and the question whether to write the file.
  const place = atTerminal(["eu", "s3cret-value", "y"], { SET: "1" });
  place.write("work/host.json", {
    mcpServers: {
      a: { command: "x", env: { REGION: "${REGION}", API_KEY: "${API_KEY}", SET: "${SET}", Z: "${Z:-1}" } },
    },
  });
  const { code, said } = await place.run("init", "--from", "host.json");
  expect(code).toBe(0);
  const asked = said.join("\n");
  expect(asked).toContain("REGION, or Enter");
  expect(asked).not.toMatch(/SET, or Enter|Z, or Enter|s3cret/);
  const text = place.read("work/cardea.jsonc");
  expect(text).toContain('"REGION": "${REGION}", "API_KEY": "${API_KEY}", "SET": "${SET}"');
  expect(text).not.toContain("s3cret");
  expect(place.read("work/cardea.env")).toMatch(/REGION="eu"\nAPI_KEY="s3cret-value"/);
});
