/**
 * Steps are what a model would ask: parameters of `read_result`, or a function of the text of the step before, where a model would take
 * them from it.
 */

/** A search. */
export const search = (text) => ({ search: text });
/** Reads on from the line of the first match: searches of text begin lines with their offsets. */
export const from =
  (pattern, { before = 0, limit = 20 } = {}) =>
  (text) => {
    const [, line] = new RegExp(`^(\\d+): .*${pattern}`, "m").exec(text) ?? [];
    return { offset: Math.max(0, Number(line) - before), limit };
  };
/** Reads what a match of JSON names: such lines begin with a pointer. */
export const at =
  (pattern, end = "") =>
  (text) => {
    const [, pointer] = new RegExp(`^(/\\S*)(?: \\(.*\\))?: .*${pattern}`, "m").exec(text) ?? [];
    return { path: `${pointer}${end}` };
  };

/** What is asked, in which steps, and what the last page has. */
export const question = (ask, steps, answer) => ({ ask, steps, answer });
