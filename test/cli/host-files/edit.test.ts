import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { EditError, editConfig, editConfigFile, replaceFile } from "../../../src/cli/host-files/edit.js";
import fc from "../../support/fast-check.js";

const JSONC = `{
  // top
  "auth": {
    "keys": [
      // alice's
      { "id": "alice", "hash": "x" }, // behind alice
      // bob
      { "id": "bob", "hash": "y" } // behind bob
    ]
  },
  "mcpServers": {
    // first
    "a": { "command": "x" }, // why a
    "b": { "command": "y" }, /* why b */
  },
  "limits": [], "naming": {},
}
`;

const edit = (path: readonly (string | number)[], value: unknown, text = JSONC): string =>
  editConfig(text, "cardea.jsonc", [{ path, value }]);

describe("an entry of JSON with comments", () => {
  test.each([
    [
      "is appended to a list",
      ["auth", "keys", 2],
      { id: "c" },
      '{ "id": "bob", "hash": "y" } // behind bob',
      '{ "id": "bob", "hash": "y" }, // behind bob\n      { "id": "c" }',
    ],
    [
      "is added to an object, behind a trailing comma",
      ["mcpServers", "c"],
      { command: "z" },
      "/* why b */",
      '/* why b */\n    "c": { "command": "z" },',
    ],
    [
      "is added to an empty list",
      ["limits", 0],
      { rate: "1/s" },
      '"limits": []',
      '"limits": [\n    { "rate": "1/s" }\n  ]',
    ],
    [
      "is added to an empty object",
      ["naming", "separator"],
      "_",
      '"naming": {}',
      '"naming": {\n    "separator": "_"\n  }',
    ],
    [
      "is added with what is missing on the way",
      ["policy", "rules", 0],
      { effect: "deny" },
      '"limits": [], "naming": {},',
      '"limits": [], "naming": {},\n  "policy": { "rules": [{ "effect": "deny" }] },',
    ],
    ["is replaced", ["mcpServers", "a", "command"], "w", '"command": "x"', '"command": "w"'],
    [
      "goes with the comment behind it",
      ["auth", "keys", 0],
      undefined,
      '      { "id": "alice", "hash": "x" }, // behind alice\n',
      "",
    ],
    [
      "goes with the comma before it",
      ["auth", "keys", 1],
      undefined,
      ', // behind alice\n      // bob\n      { "id": "bob", "hash": "y" } // behind bob\n',
      " // behind alice\n      // bob\n",
    ],
    ["goes from an object", ["mcpServers", "b"], undefined, '    "b": { "command": "y" }, /* why b */\n', ""],
    ["goes from a line with others", ["limits"], undefined, '"limits": [], "naming"', '"naming"'],
    ["goes from the end of such a line", ["naming"], undefined, ', "naming": {},', ""],
    ["that is not there stays away", ["mcpServers", "z"], undefined, "", ""],
  ] as [string, (string | number)[], unknown, string, string][])("%s", (_, path, value, before, after) => {
    expect(edit(path, value)).toBe(JSONC.replace(before, after));
  });

  test("is broken into lines where it is long, in the file's own indentation and line ends", () => {
    const text = '{\r\n\t"mcpServers": {\r\n\t\t"a": { "command": "x" }\r\n\t}\r\n}\r\n';
    const value = {
      command: "npx",
      args: ["-y", "a".repeat(60)],
      env: { TOKEN: "${TOKEN}", OTHER: "b".repeat(40) },
    };
    expect(edit(["mcpServers", "b"], value, text)).toBe(
      [
        "{",
        '\t"mcpServers": {',
        '\t\t"a": { "command": "x" },',
        '\t\t"b": {',
        '\t\t\t"command": "npx",',
        `\t\t\t"args": ["-y", "${"a".repeat(60)}"],`,
        `\t\t\t"env": { "TOKEN": "\${TOKEN}", "OTHER": "${"b".repeat(40)}" }`,
        "\t\t}",
        "\t}",
        "}",
        "",
      ].join("\r\n"),
    );
  });

  test("is added to an object with nothing but a comment", () => {
    expect(edit(["a"], 1, "{\n  // nothing yet\n}\n")).toBe('{\n  // nothing yet\n  "a": 1\n}\n');
    expect(edit(["a"], 1, "{}")).toBe('{\n  "a": 1\n}');
    expect(edit(["a"], 1, "\uFEFF{ }")).toBe('\uFEFF{ \n  "a": 1\n}');
  });
});

const YAML = `# top
auth:
  keys:
    # alice's
    - id: alice # behind alice
      hash: x
    - { id: bob, hash: y }
mcpServers:

  a: # why a
    command: "x"
    args: [ -y, b ]
`;

describe("an entry of YAML", () => {
  test("is added and removed, and the comments stay", () => {
    const added = editConfig(YAML, "cardea.yaml", [
      { path: ["auth", "keys", 2], value: { id: "c", hash: "z" } },
      { path: ["mcpServers", "b"], value: { command: "y" } },
      { path: ["auth", "keys", 1], value: undefined },
    ]);
    for (const comment of ["# top", "# alice's", "# behind alice", "# why a"])
      expect(added).toContain(comment);
    expect(added).toContain("    - id: c\n      hash: z\n");
    expect(added).toContain("  b:\n    command: y\n");
    expect(added).not.toContain("bob");
  });
});

test.each([
  ["cardea.jsonc", '{ "a": ', ["b"], 1],
  ["cardea.jsonc", '{ "a": 1 }', ["a", "b"], 1],
  ["cardea.yaml", "x: &x { a: 1 }\ny: *x\n", ["y", "a"], 2],
  ["cardea.yaml", "a: [", ["b"], 1],
] as [string, string, string[], unknown][])("%s: %s cannot be edited at %j", (file, text, path, value) => {
  expect(() => editConfig(text, file, [{ path, value }])).toThrow(EditError);
});

test("adding and removing an entry leaves the other values unchanged", () => {
  // A key __proto__ is no setting, and is not read.
  const json = fc
    .jsonValue({ maxDepth: 2 })
    .map((value): unknown => JSON.parse(JSON.stringify(value)))
    .filter((value) => !JSON.stringify(value).includes("__proto__"));
  const config = fc.dictionary(
    fc.stringMatching(/^[a-z]{1,3}$/),
    fc.dictionary(fc.stringMatching(/^[a-z]{1,3}$/), json),
  );
  const indents = fc.constantFrom(undefined, 1, 2, 4, "\t");
  fc.assert(
    fc.property(config, indents, json, (value, indent, added) => {
      const text = JSON.stringify(value, null, indent);
      const more = edit(["zzzz", "new"], added, text);
      expect(JSON.parse(more)).toEqual({ ...value, zzzz: { new: added } });
      expect(JSON.parse(edit(["zzzz"], undefined, more))).toEqual(JSON.parse(text));
    }),
  );
});

test("a file is replaced atomically: a link stays a link, permissions stay, and no temporary file remains", async () => {
  const folder = mkdtempSync(join(tmpdir(), "cardea-edit-"));
  const [file, link] = [join(folder, "real.jsonc"), join(folder, "cardea.jsonc")];
  writeFileSync(file, '{ "a": 1 }');
  chmodSync(file, 0o640);
  symlinkSync(file, link);
  await editConfigFile(link, [{ path: ["b"], value: 2 }]);
  expect(readFileSync(file, "utf8")).toBe('{ "a": 1, "b": 2 }');
  expect([lstatSync(link).isSymbolicLink(), statSync(file).mode & 0o777]).toEqual([true, 0o640]);
  await expect(editConfigFile(link, [{ path: ["a", "c"], value: 2 }])).rejects.toThrow(EditError);
  expect(readdirSync(folder).sort()).toEqual(["cardea.jsonc", "real.jsonc"]);
  rmSync(folder, { recursive: true });
});

describe("a file that is replaced", () => {
  const withFile = async (work: (file: string, folder: string) => Promise<void>): Promise<void> => {
    const folder = mkdtempSync(join(tmpdir(), "cardea-replace-"));
    const file = join(folder, "cardea.json");
    writeFileSync(file, "before");
    await work(file, folder).finally(() => rmSync(folder, { recursive: true }));
  };

  test("keeps permissions that the umask takes from new files", async () => {
    await withFile(async (file) => {
      chmodSync(file, 0o666);
      await replaceFile(file, { before: "before", after: "after" });
      expect([readFileSync(file, "utf8"), statSync(file).mode & 0o7777]).toEqual(["after", 0o666]);
    });
  });

  test("is closed to other users if requested", async () => {
    await withFile(async (file) => {
      chmodSync(file, 0o644);
      await replaceFile(file, { before: "before", after: "after", ownerOnly: true });
      expect(statSync(file).mode & 0o7777).toBe(0o600);
    });
  });

  test.skipIf(process.getuid?.() !== 0)("keeps its owner, group and special bits", async () => {
    await withFile(async (file) => {
      chownSync(file, 4321, 1234);
      chmodSync(file, 0o2660);
      await replaceFile(file, { before: "before", after: "after" });
      const { uid, gid, mode } = statSync(file);
      expect([uid, gid, mode & 0o7777]).toEqual([4321, 1234, 0o2660]);
    });
  });

  test("is unchanged if another program modified it after it was read", async () => {
    await withFile(async (file, folder) => {
      writeFileSync(file, "theirs");
      const replaced = replaceFile(file, { before: "before", after: "after" });
      await expect(replaced).rejects.toThrow(
        new EditError("another program changed it in the meantime; run the command again"),
      );
      expect(readFileSync(file, "utf8")).toBe("theirs");
      expect(readdirSync(folder)).toEqual(["cardea.json"]);
    });
  });
});
