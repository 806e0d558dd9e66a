/** Patterns of other people's schemas: matched by RE2, and only those that are small enough to be compiled at all. */
import { compileEcmaScript, type RE2JS } from "../re2.js";
import type { CheckRun } from "./check-result.js";

export interface Pattern {
  /** Whether it matches somewhere in the text. @throws TooMuch */
  test(text: string, run: CheckRun): boolean;
}

const MAX_LENGTH = 1_000;
/** Compiling costs some microseconds for each instruction. */
const MAX_INSTRUCTIONS = 4_000;

/** Undefined for what RE2 does not take, such as a look-ahead, and for what would be too large. */
export function compileUntrusted(source: string): Pattern | undefined {
  // Quoted text is RE2's own and not ECMAScript's; it would have to be weighed by other rules.
  if (source.length > MAX_LENGTH || source.includes("\\Q") || instructionCount(source) > MAX_INSTRUCTIONS)
    return undefined;
  let pattern: RE2JS;
  try {
    pattern = compileEcmaScript(source);
  } catch {
    return undefined;
  }
  const size = pattern.programSize();
  return {
    test(text, run) {
      // Each character may touch each instruction.
      run.spend((text.length + 1) * size);
      return pattern.test(text);
    },
  };
}

/** How many instructions it may come to: counted repeats are written out, those inside each other many times. */
export function instructionCount(source: string): number {
  /** The weights of the groups that are open, and of the atom that a repeat would be about. */
  const open: number[] = [];
  let sum = 0;
  let atom = 0;
  const add = (next: number): void => {
    sum += atom;
    atom = next;
  };
  for (let i = 0; i < source.length; i += 1) {
    const character = source[i];
    if (character === "\\") {
      i += 1;
      add(1);
    } else if (character === "[") {
      i = endOfClass(source, i);
      add(1);
    } else if (character === "(") {
      add(0);
      open.push(sum);
      sum = 1;
    } else if (character === ")") {
      add(0);
      atom = sum + 1;
      sum = open.pop() ?? 0;
    } else if (character === "{") {
      const [counted, low = "", high = low] = /^\{(\d+)(?:,(\d*))?\}/.exec(source.slice(i, i + 16)) ?? [];
      if (counted === undefined) add(1);
      else {
        atom = (atom + 1) * Math.max(1, Number(low), Number(high));
        i += counted.length - 1;
      }
    } else add(1);
  }
  return open.reduce((total, outer) => total + outer, sum + atom);
}

function endOfClass(source: string, start: number): number {
  let i = source[start + 1] === "^" ? start + 2 : start + 1;
  // A bracket that comes first is a character like any other to RE2.
  if (source[i] === "]") i += 1;
  for (; i < source.length && source[i] !== "]"; i += 1) if (source[i] === "\\") i += 1;
  return i;
}
