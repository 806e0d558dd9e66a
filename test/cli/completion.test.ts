/** The scripts of `cardea completion`, in the shells themselves where these are installed. */

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runCommandLine } from "../../src/cli/program.js";
import { hasFeature } from "../support/features.js";
import { fakeShell } from "./fake-shell.js";

const isInstalled = (shell: string): boolean => spawnSync(shell, ["-c", "true"]).status === 0;

let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "cardea-completion-"));
  for (const shell of ["bash", "zsh", "fish"]) {
    const context = fakeShell();
    expect(await runCommandLine(["completion", shell], context)).toBe(0);
    writeFileSync(join(folder, `cardea.${shell}`), context.out());
  }
  writeFileSync(join(folder, "my config.jsonc"), "{}");
});
afterAll(() => rmSync(folder, { recursive: true }));

const run = (shell: string, args: readonly string[]): readonly string[] => {
  const { stdout, stderr } = spawnSync(shell, args, {
    cwd: folder,
    encoding: "utf8",
    env: { PATH: process.env.PATH },
  });
  expect(stderr).toBe("");
  return stdout.split("\n").filter((line) => line !== "");
};

/** What a shell offers for the last of `words`, which may be empty. */
const OFFERED: Readonly<Record<string, (words: readonly string[]) => readonly string[]>> = {
  bash: (words) =>
    run("bash", [
      "--norc",
      "-c",
      `source ./cardea.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _cardea; printf '%s\\n' "\${COMPREPLY[@]}"`,
      "bash",
      ...words,
    ]),
  fish: (words) =>
    run("fish", ["--no-config", "-c", `source ./cardea.fish; complete -C "${words.join(" ")}"`]).map(
      (line) => line.split("\t")[0] ?? "",
    ),
};

describe.each(["bash", "fish"].filter(isInstalled))("in %s", (shell) => {
  const offered = (...words: readonly string[]) => OFFERED[shell]?.(["cardea", ...words]) ?? [];

  test("completion offers commands", () => {
    expect(offered("")).toEqual(expect.arrayContaining(["serve", "stdio", "doctor", "key", "completion"]));
    expect(offered("com")).toEqual(["completion"]);
    expect(offered("key", "re")).toEqual(["revoke"]);
    expect(offered("completion", "")).toEqual(expect.arrayContaining(["bash", "zsh", "fish"]));
    expect(offered("list", "to")).toEqual(["tools"]);
  });

  test("completion offers the flags of the command, and no others", () => {
    if (hasFeature("admin"))
      expect(offered("serve", "--admin-")).toEqual(expect.arrayContaining(["--admin-host", "--admin-port"]));
    expect(offered("serve", "--port", "1", "--ins")).toEqual(["--insecure"]);
    expect(offered("check", "--ins")).toEqual([]);
    expect(offered("key", "revoke", "--con")).toEqual(["--config"]);
  });

  test("completion offers files for an argument that is a file", () => {
    expect(offered("check", "--config", "my").join().replaceAll("\\", "")).toBe("my config.jsonc");
    expect(offered("import", "my").join().replaceAll("\\", "")).toBe("my config.jsonc");
    expect(offered("serve", "--port", "")).toEqual([]);
  });
});

test.runIf(isInstalled("zsh"))("the zsh completion script is well-formed and registers itself", () => {
  const script = "autoload -Uz compinit && compinit -u -D && source ./cardea.zsh && print ${_comps[cardea]}";
  expect(run("zsh", ["-f", "-c", script])).toEqual(["_cardea"]);
});
