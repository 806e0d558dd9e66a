/** What `cardea install HOST --undo` takes back, and what install says of hosts that it does not know. */
import { describe, expect, test } from "vitest";
import { writeRunFile } from "../../src/cli/run-files.js";
import { SILENT } from "../../src/core/logger.js";
import { type AtHome, atHome } from "./at-home.js";

const URL = "http://127.0.0.1:9000/mcp";

function withConfig(): AtHome {
  const place = atHome();
  place.write("work/cardea.json", { mcpServers: { files: { command: "files" } } });
  return place;
}

/** Writes what a gateway that serves the config writes while it runs; this process stands for it. */
async function withGateway(): Promise<AtHome> {
  const place = withConfig();
  const config = `${place.work}/cardea.json`;
  const running = { url: URL, adminUrl: "http://127.0.0.1:9001", pid: process.pid, config };
  await writeRunFile({ HOME: place.home }, running, SILENT);
  return place;
}

describe("install --undo", () => {
  const file = "home/.config/zed/settings.json";
  const mine =
    '{\n  // dark is best\n  "context_servers": {\n    "files": { "command": "files" } // mine\n  }\n}\n';

  test("restores the file byte for byte, servers that --replace took out too", async () => {
    const place = await withGateway();
    place.write(file, mine);
    await place.run("install", "zed", "--replace");
    expect(place.read(file)).not.toContain("files");
    const dry = await place.run("install", "zed", "--undo", "--dry-run");
    expect([dry.code, place.read(file) === mine]).toEqual([0, false]);
    const { code, out } = await place.run("install", "zed", "--undo");
    expect([code, place.read(file)]).toEqual([0, mine]);
    expect(out).toContain(`/${file} is as it was before (/${file}.bak)`);
    expect(out).toContain('-     "cardea"');
  });

  test("removes a file that was not there before", async () => {
    const place = await withGateway();
    await place.run("install", "zed");
    const { code, out } = await place.run("install", "zed", "--undo");
    expect([code, place.has(file)]).toEqual([0, false]);
    expect(out).toContain(`removed /${file}, which cardea install had created`);
  });

  test("of two installs goes back to before the first", async () => {
    const place = withConfig();
    place.write(file, mine);
    await place.run("install", "zed");
    await place.run("install", "zed", "--url", "http://127.0.0.1:9/mcp");
    expect((await place.run("install", "zed", "--undo")).code).toBe(0);
    expect(place.read(file)).toBe(mine);
  });

  test("keeps what others changed since, and restores an entry of the same name", async () => {
    const place = await withGateway();
    place.write(file, '{ "context_servers": { "cardea": { "url": "http://old/mcp" } } }\n');
    await place.run("install", "zed");
    place.write(file, place.read(file).replace("{", '{ "theme": "light",'));
    const { code, out } = await place.run("install", "zed", "--undo");
    expect(code).toBe(0);
    expect(JSON.parse(place.read(file))).toEqual({
      theme: "light",
      context_servers: { cardea: { url: "http://old/mcp" } },
    });
    expect(out).toContain("what else was changed since stays");
  });

  test.each([
    [
      "was changed by hand since",
      (text: string) => text.replace(URL, "http://mine/mcp"),
      "is not the one that",
    ],
    ["is gone already", () => "{}\n", "has no entry"],
  ])("refuses where the entry %s, and names the backup", async (_, change, reason) => {
    const place = await withGateway();
    place.write(file, mine);
    await place.run("install", "zed");
    const changed = change(place.read(file));
    place.write(file, changed);
    const { code, said } = await place.run("install", "zed", "--undo");
    expect([code, place.read(file)]).toEqual([1, changed]);
    expect(said.join()).toContain(reason);
    expect(said.join()).toContain(`/${file}.bak has the file as it was before`);
  });

  test("refuses where nothing was written, and after an undo", async () => {
    const place = await withGateway();
    place.write(file, mine);
    for (const before of [[], ["install", "zed"]]) {
      if (before.length > 0) {
        await place.run(...before);
        await place.run("install", "zed", "--undo");
      }
      const { code, said } = await place.run("install", "zed", "--undo");
      expect([code, place.read(file)]).toEqual([1, mine]);
      expect(said.join()).toContain("nothing to undo: cardea install zed has written nothing since");
    }
  });

  test("takes the table out of TOML", async () => {
    const place = await withGateway();
    const toml = "home/.codex/config.toml";
    place.write(toml, 'model = "x"\n');
    await place.run("install", "codex");
    place.write(toml, `# since\n${place.read(toml)}`);
    expect((await place.run("install", "codex", "--undo")).code).toBe(0);
    expect(place.read(toml)).toContain('# since\nmodel = "x"\n');
    expect(place.read(toml)).not.toContain("cardea");
  });
});

test.each([
  ["claude", "say which one: claude-code or claude-desktop"],
  ["goose", "goose configure"],
  ["continue", "config.yaml"],
  ["kursor", "did you mean cursor?"],
  ["xyzzy", "any other host takes the URL that cardea serve prints"],
])("a host that is not known by the name %s gets the way that works", async (name, hint) => {
  const { code, said } = await withConfig().run("install", name);
  expect(code).toBe(2);
  expect(said.join()).toContain(hint);
});
