import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { findConfig, searchPaths } from "../../src/config/find.js";

let cwd: string;
let home: string;
beforeEach(() => {
  const root = mkdtempSync(join(tmpdir(), "cardea-find-"));
  cwd = join(root, "project");
  home = join(root, "home");
  mkdirSync(cwd);
  mkdirSync(home);
});
afterEach(() => rmSync(dirname(cwd), { recursive: true }));

function place(...files: readonly string[]): void {
  for (const file of files) {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, "{}");
  }
}

describe("the config file", () => {
  test("is searched in the documented order, and the first existing one wins", () => {
    const env = { HOME: home };
    const order = searchPaths({ env });
    expect(order).toEqual([
      "cardea.jsonc",
      "cardea.json",
      "cardea.yaml",
      "cardea.yml",
      ".mcp.json",
      ...["jsonc", "json", "yaml", "yml"].map((kind) => join(home, `.config/cardea/cardea.${kind}`)),
    ]);
    place(...order.map((file) => (file.startsWith("/") ? file : join(cwd, file))));
    for (const file of order) {
      expect(findConfig({ env, cwd })).toEqual({ file, by: "discovery" });
      rmSync(file.startsWith("/") ? file : join(cwd, file));
    }
    expect(findConfig({ env, cwd })).toBeUndefined();
  });

  test("is the one of the flag, otherwise of CARDEA_CONFIG, whether they exist or not", () => {
    place(join(cwd, "cardea.json"));
    const env = { HOME: home, CARDEA_CONFIG: "elsewhere.yaml" };
    expect(findConfig({ flag: "mine.json", env, cwd })).toEqual({ file: "mine.json", by: "--config" });
    expect(findConfig({ env, cwd })).toEqual({ file: "elsewhere.yaml", by: "CARDEA_CONFIG" });
    expect(findConfig({ env: { ...env, CARDEA_CONFIG: "" }, cwd })?.file).toBe("cardea.json");
  });

  test("is under XDG_CONFIG_HOME if set", () => {
    const file = join(home, "xdg/cardea/cardea.yaml");
    place(file);
    expect(findConfig({ env: { HOME: home, XDG_CONFIG_HOME: join(home, "xdg") }, cwd })?.file).toBe(file);
  });

  test.each([
    ["a device", () => symlinkSync("/dev/zero", join(cwd, "cardea.json"))],
    ["a pipe", () => execFileSync("mkfifo", [join(cwd, "cardea.json")])],
    ["links in a circle", () => symlinkSync("cardea.json", join(cwd, "cardea.json"))],
  ])("what is there and no file is found, and not passed over: %s", (_, make) => {
    make();
    place(join(cwd, ".mcp.json"));
    expect(findConfig({ env: { HOME: home }, cwd })?.file).toBe("cardea.json");
    rmSync(join(cwd, "cardea.json"));
    rmSync(join(cwd, ".mcp.json"));
  });

  test("is never a folder", () => {
    mkdirSync(join(cwd, "cardea.jsonc"));
    place(join(cwd, ".mcp.json"));
    expect(findConfig({ env: { HOME: home }, cwd })?.file).toBe(".mcp.json");
  });
});
