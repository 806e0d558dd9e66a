/** Text of servers and hosts can neither forge a log line nor control the terminal. */
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text as readAll } from "node:stream/consumers";
import { afterAll, describe, expect, test } from "vitest";
import { inRepository, MAIN } from "../support/cardea.js";
import { openLegacy, openModern } from "../support/peers/raw.js";
import { type Started, start } from "../support/processes.js";
import { sample } from "../support/sample.js";
import { until } from "../support/until.js";

const NASTY_SERVER = inRepository("test/support/servers/nasty.mjs");
const ESC = String.fromCodePoint(0x1b);
const NASTY = `${ESC}[2J\r\n{"level":"error","msg":"forged"}\n${String.fromCodePoint(0x2028, 0x9b, 0x202e)}`;
/** Everything that is not a plain sign, except the ends of lines. */
const HIDDEN = /[^\P{C}\n]|[\p{Zl}\p{Zp}]/u;

const folder = mkdtempSync(join(tmpdir(), "cardea-hostile-text-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const file = join(folder, "cardea.json");
const server = { command: process.execPath, args: [NASTY_SERVER] };
writeFileSync(
  file,
  JSON.stringify({
    listen: { http: { port: 0 }, admin: { port: 0 } },
    mcpServers: {
      nasty: server,
      gone: { command: `/nowhere/${ESC}[2J` },
      silent: { command: process.execPath, args: ["-e", `process.stderr.write(${JSON.stringify(NASTY)})`] },
    },
  }),
);
const env = { PATH: process.env.PATH, HOME: folder, CARDEA_LOG_LEVEL: "debug" };

describe("the log", () => {
  test("has one JSON line for each event, with control and invisible characters escaped", async () => {
    const gateway = start(process.execPath, [MAIN, "serve", "--config", file], { env, cwd: folder });
    const [, url = ""] = await gateway.says(/(http:\/\/[^\s"]+\/mcp)/);
    for (const open of [openLegacy, openModern]) {
      const host = await open({ url });
      await until("its tools", async () => (await host.list("tools")).length === 2);
      for (const list of ["prompts", "resources", "resourceTemplates"] as const) await host.list(list);
      for (const [name, args] of [
        ["nasty__speak", {}],
        ["nasty__speak", { [NASTY]: NASTY }],
        ["nasty__speak", { refuse: true }],
        ["nasty__speak", { die: true }],
        [`nasty__${NASTY}`, {}],
        [NASTY, {}],
      ] as const) {
        await host.request("tools/call", { name, arguments: args });
      }
      await host.request("resources/read", { uri: `nasty+x:${NASTY}` });
      await host.request("prompts/get", { name: NASTY }).catch(() => {});
      await host.close();
    }
    await gateway.stop();

    const text = gateway.stderr();
    expect(text).toContain("forged");
    expect(text).not.toMatch(HIDDEN);
    expect(text).not.toContain("\r");
    const events = text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as { level: string; time: number; msg: string });
    for (const event of events) {
      expect(event).toMatchObject({
        level: expect.any(String),
        time: expect.any(Number),
        msg: expect.any(String),
      });
      // The forged one is no event of its own, but stands inside another.
      expect([event.time === 1, event.msg === "forged"]).toEqual([false, false]);
    }
    const calls = events.filter(({ msg }) => msg === "call");
    expect(calls.filter((call) => JSON.stringify(call).includes("forged")).length).toBeGreaterThan(4);
  });
});

describe("CLI commands", () => {
  const run = async (args: readonly string[], input = ""): Promise<{ out: string; err: string }> => {
    const command: Started = start(process.execPath, [MAIN, ...args], {
      env: { ...env, CARDEA_LOG_LEVEL: "" },
      cwd: folder,
    });
    command.child.stdin.end(input);
    const [out] = await Promise.all([readAll(command.child.stdout), command.exited]);
    return { out, err: command.stderr() };
  };

  const commands = [
    ["list"],
    ["list", "--json"],
    ["call", "nasty__speak"],
    ["call", "nasty__speak", "--json"],
    ["call", "nasty__speak", '{"refuse":true}'],
    ["call", "nasty__speak", '{"die":true}'],
    ["explain", "nasty__speak"],
    ["doctor", "--json"],
  ].map((words) => [words.join(" "), words] as const);

  test.each(sample("commands with hostile text", commands, 2))(
    "%s prints no terminal escapes and no invisible characters",
    async (_, args) => {
      const { out, err } = await run([...args, "--config", file]);
      expect(out + err).not.toBe("");
      expect(out).not.toMatch(HIDDEN);
      expect(err).not.toMatch(HIDDEN);
      if (args.includes("--json")) expect(() => JSON.parse(out) as unknown).not.toThrow();
    },
  );

  test("doctor lets no server forge a line of its report", async () => {
    const { out } = await run(["doctor", "--config", file]);
    expect(out).toContain("forged");
    const lines = out.trimEnd().split("\n");
    expect(lines.filter((line) => !/^(ok {4}|WRONG )\w+: | {6}/.test(line))).toEqual([]);
    const ofServers = lines.filter((line) => !/^ |sandbox/.test(line));
    expect(ofServers).toHaveLength(3);
  });

  test("check prints no terminal escapes of a config", async () => {
    const wrong = join(folder, "wrong.json");
    writeFileSync(
      wrong,
      JSON.stringify({ [NASTY]: 1, mcpServers: { [NASTY]: {}, s: { command: NASTY, [NASTY]: 1 } } }),
    );
    for (const more of [[], ["--json"]]) {
      const { out, err } = await run(["check", "--config", wrong, ...more]);
      expect(out).toContain("forged");
      expect(out + err).not.toMatch(HIDDEN);
    }
  });

  test("import prints no terminal escapes, and its config keeps the values", async () => {
    const host = { mcpServers: { [NASTY]: { command: "x", args: [NASTY] } } };
    const { out, err } = await run(["import", "-"], JSON.stringify(host));
    expect(out + err).not.toMatch(HIDDEN);
    expect(JSON.parse(out.replace(/^\/\/.*$/gm, ""))).toMatchObject(host);
  });

  test("usage errors print no terminal escapes of the arguments", async () => {
    const wrong = [
      [NASTY],
      ["call", NASTY, "--config", file],
      [`--${NASTY}`],
      ["list", NASTY],
      ["serve", "--port", NASTY],
      ["check", "--config", NASTY],
    ];
    for (const args of sample("usage errors", wrong, 2)) {
      const { out, err } = await run(args);
      expect(out + err).not.toBe("");
      expect(out + err).not.toMatch(HIDDEN);
    }
  });

  test("JSON output keeps all printable characters", async () => {
    const signs = "❤️ 👩‍💻 می‌خواهم हिन्दी क्‍ष";
    const name = createHash("sha256").update(signs).digest("hex").slice(0, 8);
    const { out } = await run(
      ["import", "-"],
      JSON.stringify({ mcpServers: { [name]: { command: signs } } }),
    );
    expect(JSON.parse(out.replace(/^\/\/.*$/gm, ""))).toMatchObject({
      mcpServers: { [name]: { command: signs } },
    });
  });
});
