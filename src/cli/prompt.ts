/** Prompts at the terminal. */
import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import type { CommandContext } from "./command-context.js";
import { UsageError } from "./exit.js";

type Terminal = Pick<CommandContext, "stdin" | "stderr">;

/** Whether a prompt is possible: both streams are a terminal. */
export const canPrompt = ({ stdin, stderr }: Terminal): boolean => isTty(stdin) && isTty(stderr);

const isTty = (stream: object): boolean => "isTTY" in stream && stream.isTTY === true;

/**
 * Reads one line. The prompt goes to stderr, because stdout carries data; what is typed is not echoed if `hidden`.
 *
 * @throws UsageError at the end of the input, or at Ctrl+C
 */
export async function prompt(
  question: string,
  { stdin, stderr }: Terminal,
  { hidden = false }: { readonly hidden?: boolean } = {},
): Promise<string> {
  let isMuted = false;
  const output = new Writable({
    write: (chunk: Buffer, _, done) => {
      if (!isMuted) stderr.write(chunk);
      done();
    },
  });
  const lines = createInterface({ input: stdin, output, terminal: isTty(stdin) });
  const ended = new Promise<undefined>((resolve) => lines.once("close", () => resolve(undefined)));
  try {
    const asked = lines.question(question).catch(() => undefined);
    isMuted = hidden;
    const answer = await Promise.race([asked, ended]);
    if (hidden) stderr.write("\n");
    if (answer === undefined) throw new UsageError("stopped before the answer; nothing was written");
    return answer.trim();
  } finally {
    lines.close();
  }
}

/** Yes unless the answer begins with an n; with the default `no`, only if it begins with a y. */
export async function confirm(
  question: string,
  terminal: Terminal,
  byDefault: "yes" | "no" = "yes",
): Promise<boolean> {
  if (byDefault === "no") return /^y/i.test(await prompt(`${question} [y/N] `, terminal));
  return !/^n/i.test(await prompt(`${question} [Y/n] `, terminal));
}
