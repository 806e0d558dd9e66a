import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import { canPrompt, confirm, prompt } from "../../src/cli/prompt.js";

/** A terminal at which `typed` is typed. */
function terminal(typed: string) {
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => stdin });
  const stderr = Object.assign(new PassThrough(), { isTTY: true });
  stdin.write(typed);
  return { stdin, stderr };
}

describe("a question at the terminal", () => {
  test("is answered by a line", async () => {
    expect(await prompt("name? ", terminal(" cardea \n"))).toBe("cardea");
  });

  test.each([
    ["\n", true],
    ["y\n", true],
    ["n\n", false],
    ["No\n", false],
  ])("is confirmed by %j: %s", async (typed, answer) => {
    expect(await confirm("sure?", terminal(typed))).toBe(answer);
  });

  test.each([
    ["Ctrl+C", "\u0003"],
    ["Ctrl+D", "\u0004"],
  ])("is not answered by %s", async (_, typed) => {
    await expect(confirm("sure?", terminal(typed))).rejects.toThrow("nothing was written");
  });

  test("is asked only at a terminal", () => {
    const { stdin, stderr } = terminal("");
    expect(canPrompt({ stdin, stderr })).toBe(true);
    expect(canPrompt({ stdin: new PassThrough(), stderr })).toBe(false);
  });
});
