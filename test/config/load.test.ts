import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { loadConfig } from "../../src/config/load.js";
import { SECTIONS, testOf } from "../support/features.js";

const folder = mkdtempSync(join(tmpdir(), "cardea-load-"));
afterAll(() => rmSync(folder, { recursive: true }));

describe("a file that cannot be read", () => {
  const place = (name: string): string => join(folder, name);
  let socket: Server;
  beforeAll(async () => {
    writeFileSync(place("latin1.json"), Buffer.from([0x7b, 0x0a, 0x20, 0xe9, 0x7d]));
    writeFileSync(place("cut.yaml"), Buffer.concat([Buffer.from("a: \uFFFDé"), Buffer.from([0xe2, 0x82])]));
    symlinkSync("/dev/zero", place("zero.json"));
    symlinkSync("loop.json", place("loop.json"));
    execFileSync("mkfifo", [place("pipe.json")]);
    symlinkSync("pipe.json", place("link-to-pipe.yaml"));
    writeFileSync(place("sparse.json"), "");
    truncateSync(place("sparse.json"), 1_073_741_824);
    socket = createServer().listen(place("socket.json"));
    await once(socket, "listening");
  });
  afterAll(() => socket.close());

  test.each([
    ["nothing.jsonc", 1, 1, "there is no such file"],
    [".", 1, 1, "it is a folder"],
    ["latin1.json", 2, 2, "it is not UTF-8 text"],
    ["cut.yaml", 1, 6, "it is not UTF-8 text"],
    ["zero.json", 1, 1, "it is a device"],
    ["/dev/null", 1, 1, "it is a device"],
    ["pipe.json", 1, 1, "it is a pipe"],
    ["link-to-pipe.yaml", 1, 1, "it is a pipe"],
    ["socket.json", 1, 1, "it is a socket"],
    ["loop.json", 1, 1, "its links lead in a circle"],
    ["sparse.json", 1, 1, "it is larger than 16 MiB"],
  ])("is a problem like any other, and is not waited for: %s", async (file, line, column, reason) => {
    expect(await loadConfig(file, { cwd: folder })).toMatchObject({
      ok: false,
      problems: [{ file, line, column, message: `the config file cannot be read: ${reason}` }],
      warnings: [],
    });
  });

  test.each([
    ['"args": ["${file:zero.json}"]', "args[0]", 'whose file "zero.json" cannot be read: it is a device'],
    ['"args": ["${file:pipe.json}"]', "args[0]", 'whose file "pipe.json" cannot be read: it is a pipe'],
    ['"args": ["${file:sparse.json}"]', "args[0]", "it is larger than 1 MiB"],
    ['"args": ["${file:latin1.json}"]', "args[0]", "it is not UTF-8 text"],
    ['"envFile": "pipe.json"', "envFile", "it is a pipe"],
    ['"envFile": "socket.json"', "envFile", "it is a socket"],
    ['"envFile": "."', "envFile", "it is a folder"],
  ])("is named with the place that names it: %s", async (setting, key, reason) => {
    const text = `{ "mcpServers": {\n  "a": { "command": "x", ${setting} } } }`;
    writeFileSync(place("names.json"), text);
    const loaded = await loadConfig("names.json", { cwd: folder, env: {} });
    expect(loaded).toMatchObject({
      config: { servers: [{ name: "a", transport: { kind: "unknown" } }] },
      problems: [{ line: 2, message: expect.stringContaining(key) }],
    });
    expect(loaded.problems[0]?.message).toContain(reason);
  });

  testOf("openapi")("so is the document of an API", async () => {
    writeFileSync(place("api.json"), '{ "mcpServers": { "a": { "type": "openapi", "spec": "zero.json" } } }');
    expect(await loadConfig("api.json", { cwd: folder, sections: SECTIONS })).toMatchObject({
      problems: [{ line: 1, message: expect.stringContaining('"spec" that cannot be read: it is a device') }],
    });
  });
});

test("a relative name starts at the working directory, and so does what is relative in the file", async () => {
  writeFileSync(join(folder, "cardea.json"), '{ "mcpServers": { "a": { "command": "./x" } } }');
  const loaded = await loadConfig("cardea.json", { cwd: folder });
  expect(loaded).toMatchObject({
    ok: true,
    config: {
      file: join(folder, "cardea.json"),
      servers: [{ transport: { command: join(folder, "x"), cwd: folder } }],
    },
  });
});

test.skipIf(process.platform === "win32")("a world-writable file causes a warning", async () => {
  const file = join(folder, "open.json");
  writeFileSync(file, "{}");
  const loaded = () => loadConfig(file, { cwd: folder });
  chmodSync(file, 0o664);
  expect((await loaded()).warnings).toEqual([]);
  chmodSync(file, 0o666);
  expect((await loaded()).warnings).toEqual([
    expect.objectContaining({
      file,
      message: expect.stringContaining("the file is world-writable"),
    }),
  ]);
  writeFileSync(file, "wrong");
  expect((await loaded()).warnings).toHaveLength(1);
});
