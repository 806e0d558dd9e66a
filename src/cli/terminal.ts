/** Progress and results of a command: with colours and ticks on a terminal, as plain lines elsewhere. */
import type { Writable } from "node:stream";
import { formatProblem, type Problem } from "../config/problem.js";
import { terminalSafe } from "./terminal-safe.js";

type Environment = Readonly<Record<string, string | undefined>>;

/** The colours, as SGR codes (ECMA-48). */
const COLOURS = { red: 31, green: 32, yellow: 33, dim: 2, bold: 1 } as const;
type Colour = keyof typeof COLOURS;

/** Colours text for one stream, or leaves it unchanged. Text from servers and files is escaped first. */
export type Paint = (colour: Colour, text: string) => string;

/** Whether the stream is a terminal with cursor control. */
export const isTerminal = (stream: Writable, env: Environment): boolean =>
  "isTTY" in stream && stream.isTTY === true && env.TERM !== "dumb";

/** Colours for a terminal, unless NO_COLOR (https://no-color.org) forbids them. */
export function painter(stream: Writable, env: Environment): Paint {
  const colours = isTerminal(stream, env) && !env.NO_COLOR;
  return (colour, text) =>
    colours ? `\u001b[${COLOURS[colour]}m${terminalSafe(text)}\u001b[0m` : terminalSafe(text);
}

/** A problem of a config as a line: `cardea.jsonc:4:13: message`. */
export const problemText = (problem: Problem, paint: Paint): string =>
  `${paint("bold", placeOf(problem))} ${paint("red", problem.message)}`;

/** A warning as a line: `cardea.jsonc:4:13: warning: message`. */
export const warningText = (problem: Problem, paint: Paint): string =>
  `${paint("bold", placeOf(problem))} ${paint("yellow", "warning:")} ${terminalSafe(problem.message)}`;

const placeOf = (problem: Problem): string => formatProblem({ ...problem, message: "" }).trimEnd();

/** Writes text that is already escaped, and waits until the stream has accepted it; EPIPE is ignored. */
export function writePainted(stream: Writable, text: string): Promise<void> {
  return new Promise((resolve) => {
    if (stream.destroyed) resolve();
    else stream.write(text, () => resolve());
  });
}

/** Interval of drawing the line, in ms; a wait of less than a second shows none. */
const INTERVAL_MS = 250;
const DELAY_MS = 1_000;
const WIDTH = 100;

/** A progress line on stderr; nothing if stderr is not a terminal. */
export class Progress {
  readonly #stream: Writable | undefined;
  readonly #timer: NodeJS.Timeout | undefined;
  readonly #startedAt = performance.now();
  #text: string;
  #isShown = false;

  constructor(stream: Writable, env: Environment, text: string) {
    this.#text = text;
    if (!isTerminal(stream, env)) return;
    this.#stream = stream;
    this.#timer = setInterval(() => this.#draw(), INTERVAL_MS);
    this.#timer.unref();
  }

  /** The current reason of the wait. */
  update(text: string): void {
    this.#text = text;
    if (this.#isShown) this.#draw();
  }

  /** Hides the line, so that something else can be written; it is redrawn later. */
  clear(): void {
    if (!this.#isShown) return;
    this.#isShown = false;
    this.#stream?.write("\r\u001b[K");
  }

  /** Removes the line permanently. */
  end(): void {
    clearInterval(this.#timer);
    this.clear();
  }

  #draw(): void {
    const elapsed = performance.now() - this.#startedAt;
    if (elapsed < DELAY_MS) return;
    this.#isShown = true;
    const line = `… ${Math.floor(elapsed / 1_000)} s: ${terminalSafe(this.#text)}`;
    this.#stream?.write(`\r\u001b[K${line.length > WIDTH ? `${line.slice(0, WIDTH - 1)}…` : line}`);
  }
}
