import { parse } from "smol-toml";
import { describe, expect, test } from "vitest";
import { EditError } from "../../../src/cli/host-files/edit.js";
import { editToml } from "../../../src/cli/host-files/edit-toml.js";
import fc from "../../support/fast-check.js";

const TOML = `# mine
model = "gpt-5"   # best

[mcp_servers.files] # files
command = 'npx'
args = [
  "-y", # yes
  "files-mcp",
]

[mcp_servers.cardea]
url = "http://old"

[mcp_servers.cardea.http_headers]
X-Key = "k"

# about the terminal
[tui]
when = 2026-11-22T10:00:00Z
text = """
[mcp_servers.fake]
"""
`;

const edit = (value: Record<string, unknown> | undefined, text = TOML): string =>
  editToml(text, "mcp_servers", "cardea", value);

describe("a table of TOML", () => {
  test("is replaced with all that is inside it, and every other byte stays", () => {
    expect(edit({ command: "x", args: ["a"] })).toBe(
      TOML.replace(
        /\[mcp_servers\.cardea\]\n[\s\S]*X-Key = "k"\n/,
        '[mcp_servers.cardea]\ncommand = "x"\nargs = [ "a" ]\n',
      ),
    );
  });

  test("is removed, and the comment of the next one stays", () => {
    expect(edit(undefined)).toBe(TOML.replace(/\[mcp_servers\.cardea\]\n[\s\S]*X-Key = "k"\n/, ""));
  });

  test.each([
    ["", '[mcp_servers.cardea]\nurl = "u"\n'],
    ["a = 1", 'a = 1\n\n[mcp_servers.cardea]\nurl = "u"\n'],
    ["a = 1\r\n", 'a = 1\r\n\r\n[mcp_servers.cardea]\r\nurl = "u"\r\n'],
    ['[ mcp_servers . "cardea" ]\nurl = "old"\n', '[mcp_servers.cardea]\nurl = "u"\n'],
  ])("comes to the end of %j, or replaces itself", (before, after) => {
    expect(edit({ url: "u" }, before)).toBe(after);
  });

  test.each([
    ['mcp_servers = { other = { url = "u" } }\n'],
    ['[mcp_servers]\ncardea.url = "u"\n'],
    ['[mcp_servers]\ncardea = { url = "u" }\n'],
    ["a = \n"],
  ])("written as in %j is not edited, with an error", (before) => {
    expect(() => edit({ url: "new" }, before)).toThrow(EditError);
  });

  test("any other content of the file, and any value, round-trips", () => {
    const text = fc.string({ unit: "binary" }).map((raw) => raw.toWellFormed());
    const entry = fc.record({ command: text, args: fc.array(text) });
    const word = fc.stringMatching(/^[a-z-]{1,8}$/).filter((name) => name !== "cardea");
    fc.assert(
      fc.property(entry, fc.dictionary(word, entry), (value, others) => {
        const before = Object.keys(others).reduce(
          (left, name) => editToml(left, "mcp_servers", name, others[name]),
          "# top\n",
        );
        const after = edit(value, before);
        expect(JSON.parse(JSON.stringify(parse(after)))).toEqual({
          mcp_servers: { ...others, cardea: value },
        });
        expect(after.startsWith(before)).toBe(true);
        expect(edit(undefined, after).trimEnd()).toBe(before.trimEnd());
      }),
    );
  });
});
