import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { loadConfig } from "../../src/config/load.js";

const folder = mkdtempSync(join(tmpdir(), "cardea-load-"));
const allRight = async () => [];
afterAll(() => rmSync(folder, { recursive: true }));

describe("a file that cannot be read", () => {
  test.each([
    ["is not there", "nothing.jsonc", "the config file cannot be read: there is no such file"],
    ["is a folder", ".", "the config file cannot be read: it is a folder"],
    ["is not UTF-8", "latin1.json", "the file is not UTF-8 text"],
  ])("because it %s is a problem like any other", async (_, file, message) => {
    writeFileSync(join(folder, "latin1.json"), Buffer.from([0x7b, 0xe9, 0x7d]));
    expect(await loadConfig(file, allRight, { cwd: folder })).toMatchObject({
      ok: false,
      problems: [{ file, line: 1, column: 1, message }],
      warnings: [],
    });
  });
});

test("a relative name starts at the working directory, and so does what is relative in the file", async () => {
  writeFileSync(join(folder, "cardea.json"), '{ "mcpServers": { "a": { "command": "./x" } } }');
  const loaded = await loadConfig("cardea.json", allRight, { cwd: folder });
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
  const loaded = () => loadConfig(file, allRight, { cwd: folder });
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
