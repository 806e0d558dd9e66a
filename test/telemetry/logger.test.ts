import { describe, expect, test } from "vitest";
import { createLogger, type LoggerOptions, readLevel } from "../../src/telemetry/logger.js";
import { Redactor } from "../../src/telemetry/redact.js";

/** A log whose lines are kept. */
function keptLog(options: Omit<LoggerOptions, "write"> = {}) {
  let text = "";
  const logger = createLogger({ env: {}, terminal: false, ...options, write: (more) => (text += more) });
  return { logger, text: () => text, lines: () => text.split("\n").slice(0, -1) };
}

const hidden = (code: number): string => String.fromCodePoint(code);
const ESC = hidden(0x1b);

describe("the log as JSON", () => {
  test("each event is one line that parses, with level, time, sentence and facts", () => {
    const log = keptLog();
    log.logger.info({ server: "files", attempt: 2 }, "started\nagain");
    log.logger.warn({}, "second");
    expect(log.lines().map((line) => JSON.parse(line))).toMatchObject([
      { level: "info", server: "files", attempt: 2, msg: "started\nagain", time: expect.any(Number) },
      { level: "warn", msg: "second" },
    ]);
  });

  test("what would steer a terminal or split a line is written as an escape", () => {
    const log = keptLog();
    const nasty = [0x1b, 0x85, 0x9b, 0x2028, 0x2029, 0x202e, 0x2066, 0x200b, 0xfeff, 0x7f, 0xe0041].map(
      hidden,
    );
    log.logger.info({ nasty: nasty.join("") }, `sentence ${nasty.join("")}`);
    expect(log.text().trimEnd()).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    expect(JSON.parse(log.text())).toMatchObject({ nasty: nasty.join("") });
  });

  test("it says whether anything is written at debug", () => {
    expect(keptLog().logger.skipsDebug).toBe(true);
    expect(keptLog({ level: "debug" }).logger.skipsDebug).toBe(false);
  });

  test("below the level nothing is written", () => {
    const log = keptLog({ env: { CARDEA_LOG_LEVEL: "warn" } });
    log.logger.info({}, "no");
    log.logger.debug({}, "no");
    log.logger.warn({}, "yes");
    expect(log.lines()).toHaveLength(1);
    const silent = keptLog({ level: "silent" });
    silent.logger.error({}, "no");
    expect(silent.text()).toBe("");
  });

  test("an error keeps its stack, its code and its cause", () => {
    const log = keptLog();
    const cause = Object.assign(new Error("refused"), { code: "ECONNREFUSED" });
    log.logger.error({ error: new Error("could not connect", { cause }) }, "failed");
    const { error } = JSON.parse(log.text());
    expect(error).toMatchObject({
      message: "could not connect",
      cause: { message: "refused", code: "ECONNREFUSED" },
    });
    expect(error.stack).toContain("logger.test.ts");
  });

  test("a fact that leads back to itself or never ends is cut", () => {
    const log = keptLog();
    const ring: Record<string, unknown> = { big: 10n };
    ring.self = ring;
    let deep: unknown = "bottom";
    for (let i = 0; i < 50; i += 1) deep = { deep };
    log.logger.info({ ring, deep }, "odd facts");
    expect(JSON.parse(log.text()).ring).toEqual({ big: "10", self: "[circular]" });
    expect(log.text()).toContain("[deep]");
  });
});

describe("secrets", () => {
  test("a field with a telling name is never shown, however deep", () => {
    const log = keptLog();
    log.logger.info(
      {
        authorization: "x1",
        headers: { Cookie: "x2", "X-Api-Key": "x3", "content-type": "text/plain" },
        list: [{ password: "x4", client_secret: "x5", accessToken: "x6", progressToken: "p7" }],
      },
      "a request",
    );
    expect(log.text()).not.toMatch(/x[1-6]/);
    expect(log.text()).toContain("text/plain");
    expect(log.text()).toContain("p7");
  });

  test("a known secret is redacted everywhere: members, sentence, error, URL", () => {
    const redactor = new Redactor();
    redactor.add(['hunter2-"quoted"', "s3cr3t/with?signs"]);
    const log = keptLog({ redactor });
    log.logger.error(
      {
        args: ['--token=hunter2-"quoted"'],
        error: new Error('rejected hunter2-"quoted"'),
        url: new URL(`https://x.test/?k=${encodeURIComponent("s3cr3t/with?signs")}`),
      },
      'got hunter2-"quoted"',
    );
    expect(log.text()).not.toContain("hunter2");
    expect(log.text()).not.toContain("s3cr3t");
    expect(JSON.parse(log.text()).msg).toBe("got [redacted]");
  });

  test("a secret that contains another goes as a whole", () => {
    const redactor = new Redactor();
    redactor.add(["secret", "secret-and-more"]);
    expect(redactor.text("the secret-and-more of it")).toBe("the [redacted] of it");
  });

  test.each([
    "Authorization: Bearer abcdefgh12345678",
    "https://user:pass@example.test/mcp",
    "token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "sk-proj-abcdefghijklmnop1234",
  ])("a probable secret is redacted: %s", (text) => {
    expect(new Redactor().text(text)).toContain("[redacted]");
  });

  test("short values and ordinary words stay", () => {
    const redactor = new Redactor();
    redactor.add(["8080", "", "true"]);
    expect(redactor.text("port 8080 is true, Basic auth is not used")).toBe(
      "port 8080 is true, Basic auth is not used",
    );
  });
});

describe("the log for people", () => {
  const options = { terminal: true } as const;

  test("a line has level, sentence and facts, and no braces", () => {
    const log = keptLog({ ...options, env: { NO_COLOR: "1" } });
    log.logger.warn({ server: "files", why: "it is slow" }, "waiting");
    expect(log.text()).toMatch(/^\d\d:\d\d:\d\d WARN {2}waiting server=files why="it is slow"\n$/);
  });

  test("a fact that the sentence has is not repeated, and one that is only a part of a word is", () => {
    const log = keptLog({ ...options, env: { NO_COLOR: "1" } });
    const url = "http://127.0.0.1:8080/mcp";
    log.logger.info(
      { url, starting: ["files", "web"], server: "file" },
      `ready: ${url}; starting: files, web`,
    );
    log.logger.info({ file: "cardea.json", by: "--config" }, "using cardea.json, named by --config");
    expect(log.lines().map((line) => line.slice("12:00:00 INFO  ".length))).toEqual([
      `ready: ${url}; starting: files, web server=file`,
      "using cardea.json, named by --config",
    ]);
  });

  test("a number that the sentence has is not repeated either", () => {
    const log = keptLog({ ...options, env: { NO_COLOR: "1" } });
    log.logger.info({ server: "files", tools: 13, retryInMs: 1 }, "files: 13 tools");
    expect(log.text()).toMatch(/INFO {2}files: 13 tools retryInMs=1\n$/);
  });

  test.each([
    ["text", false, /^\d\d:\d\d:\d\d ERROR no such file\n$/],
    ["json", true, /^\{"level":"error".*"msg":"no such file"\}\n$/],
  ])("CARDEA_LOG_FORMAT=%s is obeyed where stderr would have another form", (format, terminal, expected) => {
    const log = keptLog({ terminal, env: { NO_COLOR: "1", CARDEA_LOG_FORMAT: format } });
    log.logger.error({}, "no such file");
    expect(log.text()).toMatch(expected);
  });

  test("another format is refused", () => {
    expect(() => keptLog({ env: { CARDEA_LOG_FORMAT: "xml" } })).toThrow(
      "CARDEA_LOG_FORMAT must be text or json",
    );
  });

  test("text of a server cannot control the terminal or forge a second line", () => {
    const log = keptLog({ ...options, env: { NO_COLOR: "1" } });
    log.logger.info({ stderr: `${ESC}[2Joops\n12:00:00 ERROR fake` }, `said ${ESC}]8;;x${hidden(7)}`);
    expect(log.lines()).toHaveLength(1);
    expect(log.text()).not.toContain(ESC);
  });

  test("a stack is printed below its line", () => {
    const log = keptLog({ ...options, env: { NO_COLOR: "1" } });
    log.logger.error({ error: new TypeError("bad", { cause: new Error("worse") }) }, "failed");
    expect(log.lines()[0]).toMatch(/ERROR failed$/);
    expect(log.lines()[1]?.trim()).toBe("TypeError: bad");
    expect(log.text()).toContain("caused by\n    Error: worse");
  });

  test.each<[string, Omit<LoggerOptions, "write">, boolean]>([
    ["a terminal has colour", { terminal: true, env: {} }, true],
    ["NO_COLOR takes it away", { terminal: true, env: { NO_COLOR: "1", FORCE_COLOR: "1" } }, false],
    ["an empty NO_COLOR says nothing", { terminal: true, env: { NO_COLOR: "" } }, true],
    ["a dumb terminal has none", { terminal: true, env: { TERM: "dumb" } }, false],
    ["FORCE_COLOR gives it back", { terminal: true, env: { TERM: "dumb", FORCE_COLOR: "1" } }, true],
    ["JSON never has any", { terminal: false, env: { FORCE_COLOR: "1" } }, false],
  ])("%s", (_, settings, coloured) => {
    const log = keptLog(settings);
    log.logger.info({}, "hello");
    expect(log.text().includes(ESC)).toBe(coloured);
  });
});

test("an unknown level is refused", () => {
  expect(() => readLevel("loud")).toThrow(RangeError);
  expect(readLevel("DEBUG")).toBe("debug");
  expect(readLevel("")).toBe("info");
});
