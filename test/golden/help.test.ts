/** The help of commands that docs/commands.md, which is compared with the program, does not have. */
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import type { CommandContext } from "../../src/cli/command-context.js";
import { runCommandLine } from "../../src/cli/program.js";
import { FEATURES } from "../support/features.js";

const COMMANDS = [["logins"], ["vault", "rotate"]];

test("their help is that of help.txt", async () => {
  const pages: string[] = [];
  for (const words of COMMANDS) {
    const printed = new PassThrough();
    const context = {
      stdout: printed,
      stderr: printed,
      features: FEATURES,
    } as Partial<CommandContext> as CommandContext;
    expect(await runCommandLine([...words, "--help"], context)).toBe(0);
    pages.push(`# cardea ${words.join(" ")}\n\n${String(printed.read())}`);
  }
  await expect(pages.join("\n")).toMatchFileSnapshot("help.txt");
});
