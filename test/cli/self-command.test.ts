import { describe, expect, test } from "vitest";
import { packageVersion } from "../../src/cli/help.js";
import { selfCommand, shellWord } from "../../src/cli/self-command.js";

describe("the command that starts the program again", () => {
  test.each([
    ["/usr/local/bin/cardea", "cardea", ["/usr/local/bin/cardea"]],
    ["/w/node_modules/.bin/cardea", "npx cardea", ["/w/node_modules/.bin/cardea"]],
    ["/src/my clone/dist/main.js", "node '/src/my clone/dist/main.js'", ["/src/my clone/dist/main.js"]],
  ])("for %s is the file itself, with this Node", (script, shown, args) => {
    expect(selfCommand(script)).toEqual({ shown, command: process.execPath, args });
  });

  test("from the temporary cache of npx is npx", () => {
    expect(selfCommand("/home/me/.npm/_npx/0a1b/node_modules/.bin/cardea")).toEqual({
      shown: "npx cardea",
      command: "npx",
      args: ["-y", `cardea@${packageVersion()}`],
    });
  });

  test("has shell words quoted where necessary", () => {
    expect(["a/b.c", "a b", "it's"].map(shellWord)).toEqual(["a/b.c", "'a b'", "'it'\\''s'"]);
  });
});
