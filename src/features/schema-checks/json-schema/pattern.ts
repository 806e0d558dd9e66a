/** Which untrusted patterns are compiled? Only small ones, and only by RE2, which matches in linear time. */
import { compileEcmaScript, type RE2JS } from "../../../patterns/re2.js";
import type { CheckRun } from "./check-result.js";

/** A compiled pattern. */
export interface Pattern {
  /**
   * Whether it matches anywhere in the text.
   *
   * @throws CheckLimitError when the run has too little work left
   */
  test(text: string, run: CheckRun): boolean;
}

const MAX_LENGTH = 1_000;
/** Compiling takes some µs for each instruction. */
const MAX_INSTRUCTIONS = 4_000;

/** Undefined for what RE2 does not support, such as a look-ahead, and for what would be too large. */
export function compileUntrusted(source: string): Pattern | undefined {
  // `\Q…\E` is RE2's and not ECMAScript's; `instructionCount` does not know it.
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

/** An upper estimate of the compiled instructions: counted repeats are expanded, nested ones multiply. */
export function instructionCount(source: string): number {
  /** The instructions before each open group; `atom` is what a following repeat applies to. */
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
  // RE2 reads a leading `]` as a literal.
  if (source[i] === "]") i += 1;
  for (; i < source.length && source[i] !== "]"; i += 1) if (source[i] === "\\") i += 1;
  return i;
}
