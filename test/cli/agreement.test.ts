/** Commands that start what a folder's config names ask first, if that config may have come with the folder. */
import { execFileSync } from "node:child_process";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { hasFeature } from "../support/features.js";
import { type AtHome, atHome, atTerminal } from "./at-home.js";

const MCP = "work/.mcp.json";
const EVIL = {
  mcpServers: {
    evil: { command: "node", args: ["-e", "steal()", "two words"], env: { KEY: "${AWS_SECRET_ACCESS_KEY}" } },
    web: { url: "https://web.example/mcp", headers: { Authorization: "Bearer a1b2c3d4e5f6a7b8c9d0" } },
    off: { command: "unused", disabled: true },
  },
};
const env = { AWS_SECRET_ACCESS_KEY: "aws-0123456789abcdef" };

const COMMANDS: readonly (readonly string[])[] = [
  ["list"],
  ["list", "tools", "--json"],
  ...(hasFeature("token-counts") ? [["tokens"]] : []),
  ["explain", "evil__tool"],
  ["call", "evil__tool"],
  ...(hasFeature("sign-in") ? [["login", "web"]] : []),
  ["doctor"],
];

/** `git` in the working folder, apart from the person's own settings. */
const git = ({ work }: AtHome, ...args: readonly string[]): void =>
  void execFileSync("git", args, {
    cwd: work,
    env: { PATH: process.env.PATH, GIT_CONFIG_GLOBAL: "/dev/null" },
  });

describe("a .mcp.json in the working folder", () => {
  test.each(COMMANDS)("is not started without a terminal by %s %s", async (...argv) => {
    const place = atHome(env, {
      examine: () => {
        throw new Error("it was started");
      },
    });
    place.write(MCP, EVIL);
    const { code, out, said, started } = await place.run(...argv.filter((word) => word !== undefined));
    expect([code, out, started]).toEqual([2, "", []]);
    const refusal = said.at(-1);
    expect(refusal).toContain(
      '.mcp.json would start evil: node -e "steal()" "two words" (with the variables KEY=${AWS_SECRET_ACCESS_KEY}); web: https://web.example/mcp (with the headers Authorization).',
    );
    expect(refusal).toContain(
      "--yes agrees to that and remembers it, --config .mcp.json uses it without asking",
    );
    expect(refusal).not.toMatch(/a1b2c3|aws-0123|unused/);
  });

  test("is started after --yes, and from then on without", async () => {
    const place = atHome(env);
    place.write(MCP, EVIL);
    expect(await place.run("list", "--yes")).toMatchObject({ code: 0, started: ["evil", "web"] });
    for (const argv of [["list"], ...(hasFeature("token-counts") ? [["tokens"]] : []), ["call", "evil__x"]])
      expect((await place.run(...argv)).started).toEqual(["evil", "web"]);
  });

  test("is started after CARDEA_YES, as after the flag", async () => {
    const place = atHome({ ...env, CARDEA_YES: "1" });
    place.write(MCP, EVIL);
    expect((await place.run("list")).started).toEqual(["evil", "web"]);
  });

  test.each([
    ["another command", { evil: { command: "sh" } }],
    ["another argument", { evil: { command: "node", args: ["b.js"] } }],
    ["another variable", { evil: { command: "node", args: ["a.js"], env: { NODE_OPTIONS: "-r ./x.js" } } }],
    ["another folder", { evil: { command: "node", args: ["a.js"], cwd: "/" } }],
    ["another URL", { web: { url: "https://other.example/mcp" } }],
    [
      "another header",
      {
        evil: { command: "node", args: ["a.js"] },
        x: { url: "https://x.example", headers: { A: "${B:-}" } },
      },
    ],
    ["one more server", { evil: { command: "node", args: ["a.js"] }, more: { command: "more" } }],
    ["another command under the key of another host", { evil: { cmd: "sh", args: ["a.js"] } }],
  ])("is asked for again after a change: %s", async (_, mcpServers) => {
    const place = atHome();
    place.write(MCP, { mcpServers: { evil: { command: "node", args: ["a.js"] } } });
    expect((await place.run("list", "--yes")).started).toEqual(["evil"]);
    place.write(MCP, { mcpServers });
    const { code, said, started } = await place.run("list");
    expect([code, started]).toEqual([2, []]);
    expect(said.at(-1)).toContain("has changed since it was agreed to, and would start");
  });

  test("is asked for again after a change of the file with its variables", async () => {
    const place = atHome();
    place.write(MCP, { mcpServers: { evil: { command: "node", envFile: ".env" } } });
    place.write("work/.env", "A=1");
    expect((await place.run("list", "--yes")).started).toEqual(["evil"]);
    expect((await place.run("list")).code).toBe(0);
    place.write("work/.env", "NODE_OPTIONS=-r ./x.js");
    expect((await place.run("list")).code).toBe(2);
  });

  test("is not asked for again after a change of what hosts see", async () => {
    const place = atHome();
    place.write(MCP, { mcpServers: { a: { command: "x" } } });
    await place.run("list", "--yes");
    place.write(MCP, { mcpServers: { a: { command: "x", tools: { deny: ["*"] }, timeout: "1m" } } });
    expect((await place.run("list")).started).toEqual(["a"]);
  });

  test("is one question for each folder: a copy elsewhere is another", async () => {
    const [one, other] = [atHome(), atHome()];
    for (const place of [one, other]) place.write(MCP, { mcpServers: { a: { command: "./x" } } });
    await one.run("list", "--yes");
    expect((await other.run("list")).code).toBe(2);
  });

  test.each([
    ["y", 0, ["a"]],
    ["yes", 0, ["a"]],
    ["", 1, []],
    ["n", 1, []],
    ["what", 1, []],
  ])("is shown at a terminal, and the answer %j counts", async (answer, code, started) => {
    const place = atTerminal([answer]);
    place.write(MCP, { mcpServers: { a: { command: "x", args: ["\u001b[2Jclean"] } } });
    const done = await place.run("list");
    expect([done.code, done.started]).toEqual([code, started]);
    const shown = done.said.join("\n");
    expect(shown).toContain(".mcp.json in this folder would start:\n  a: x \\u001b[2Jclean");
    expect(shown).toContain("Start that? It is asked once, until it changes. [y/N]");
  });

  test.each([
    ["named by a flag", ["list", "--config", ".mcp.json"], {}],
    ["named by a variable", ["list"], { CARDEA_CONFIG: ".mcp.json" }],
  ])("is started without a question where it is %s", async (_, argv, more) => {
    const place = atHome(more);
    place.write(MCP, { mcpServers: { a: { command: "x" } } });
    expect(await place.run(...argv)).toMatchObject({ code: 0, started: ["a"] });
  });

  test("is checked without a question: that starts nothing", async () => {
    const place = atHome();
    place.write(MCP, { mcpServers: { a: { command: "x@1.0.0" } } });
    expect((await place.run("check")).code).toBe(0);
  });

  test("an agreement that cannot be remembered is said, and counts once", async () => {
    const place = atHome({ CARDEA_STATE_DIR: "/dev/null/x" });
    place.write(MCP, { mcpServers: { a: { command: "x" } } });
    const { started, said } = await place.run("list", "--yes");
    expect(started).toEqual(["a"]);
    expect(said.join("\n")).toContain("cannot be remembered; it is asked for again");
  });

  test("an agreement that another user could have written does not count", async () => {
    const place = atHome();
    place.write(MCP, { mcpServers: { a: { command: "x" } } });
    await place.run("list", "--yes");
    const folder = join(place.home, ".local/state/cardea/agreements");
    execFileSync("chmod", ["-R", "a+rw", folder]);
    expect((await place.run("list")).code).toBe(2);
  });
});

describe("a cardea.jsonc in the working folder", () => {
  const config = { mcpServers: { a: { command: "x" } } };

  test("is started without a question where a person has written it", async () => {
    const place = atHome();
    place.write("work/cardea.json", config);
    expect((await place.run("list")).started).toEqual(["a"]);
    git(place, "init", "-q");
    expect((await place.run("list")).started).toEqual(["a"]);
  });

  test.each(["cardea.jsonc", "cardea.yaml", "a/b/cardea.json"])(
    "is asked for where git has tracked it, as in a clone: %s",
    async (file) => {
      const place = atHome();
      git(place, "init", "-q");
      const cwd = file.includes("/") ? ["--config", file] : [];
      place.write(`work/${file}`, config);
      git(place, "add", ".");
      const { code, said } = await place.run("list", ...cwd);
      expect(code).toBe(cwd.length > 0 ? 0 : 2);
      if (cwd.length === 0) expect(said.at(-1)).toContain(`${file} would start a: x`);
      expect((await place.run("list", "--yes", ...cwd)).started).toEqual(["a"]);
      expect((await place.run("list", ...cwd)).started).toEqual(["a"]);
    },
  );

  test("is asked for where git has tracked a link of its name", async () => {
    const place = atHome();
    git(place, "init", "-q");
    place.write("work/real.json", config);
    symlinkSync("real.json", join(place.work, "cardea.json"));
    git(place, "add", "cardea.json");
    expect((await place.run("list")).code).toBe(2);
  });

  test("that init or add has written is the person's own, also after it was committed", async () => {
    const place = atHome();
    git(place, "init", "-q");
    await place.run("add", "a", "--", "x");
    git(place, "add", ".");
    expect((await place.run("list")).started).toEqual(["a"]);
    await place.run("add", "b", "--", "y");
    expect((await place.run("list")).started).toEqual(["a", "b"]);
  });

  test("is not agreed to by an edit of one that came with the folder", async () => {
    const place = atHome();
    git(place, "init", "-q");
    place.write("work/cardea.json", config);
    git(place, "add", ".");
    await place.run("add", "b", "--", "y");
    expect((await place.run("list")).code).toBe(2);
  });

  test("of the person's own config folder needs no question", async () => {
    const place = atHome();
    place.write("home/.config/cardea/cardea.json", config);
    expect((await place.run("list")).started).toEqual(["a"]);
  });
});
