/** Truncates a text at the end of a sentence, otherwise of a word. */

const SENTENCE_ENDS = [". ", ".\n", "! ", "!\n", "? ", "?\n", ":\n", "\n\n", "。"] as const;

/** `text` with at most `maxLength` UTF-16 code units, with an ellipsis if truncated. */
export function cutText(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  // The ellipsis, and the space before it, need two.
  const start = text.slice(0, Math.max(0, maxLength - 2));
  const sentence = Math.max(...SENTENCE_ENDS.map((end) => start.lastIndexOf(end)));
  if (sentence >= start.length / 2) return `${start.slice(0, sentence + 1).trimEnd()} …`;
  const space = start.search(/\s\S*$/);
  const word = space >= start.length / 2 ? start.slice(0, space) : start;
  // Not half of a surrogate pair, and no comma before the ellipsis.
  const whole = word.replace(/[\ud800-\udbff]$/, "").trimEnd();
  return `${whole.replace(/[,;:(–—-]$/, "").trimEnd()}…`;
}
