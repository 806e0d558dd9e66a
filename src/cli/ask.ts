/** Asks the person at the terminal. */
import { createInterface } from "node:readline/promises";
import type { CommandContext } from "./command-context.js";

type Terminal = Pick<CommandContext, "stdin" | "stderr">;

/** Whether a person can be asked: both streams are a terminal. */
export const canAsk = ({ stdin, stderr }: Terminal): boolean => isTty(stdin) && isTty(stderr);

const isTty = (stream: object): boolean => "isTTY" in stream && stream.isTTY === true;

/** One line of text; empty when the input ends. The question goes to stderr, as stdout carries data. */
export async function ask(question: string, { stdin, stderr }: Terminal): Promise<string> {
  const lines = createInterface({ input: stdin, output: stderr, terminal: isTty(stdin) });
  const ended = new Promise<string>((resolve) => lines.once("close", () => resolve("")));
  try {
    return (await Promise.race([lines.question(question), ended])).trim();
  } finally {
    lines.close();
  }
}

/** Yes unless the answer begins with an n. */
export async function confirm(question: string, terminal: Terminal): Promise<boolean> {
  return !/^n/i.test(await ask(`${question} [Y/n] `, terminal));
}
