/** A unified diff of two texts. */

/** Context lines. */
const CONTEXT = 3;

/** The changed lines with context, as one hunk: edits change one entry. */
export function lineDiff(before: string, after: string, file: string): string {
  const [old, now] = [before, after].map((text) => text.split("\n"));
  if (old === undefined || now === undefined) return "";
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start += 1;
  let end = 0;
  const most = Math.min(old.length, now.length) - start;
  while (end < most && old[old.length - 1 - end] === now[now.length - 1 - end]) end += 1;
  const above = old.slice(Math.max(0, start - CONTEXT), start);
  const below = end === 0 ? [] : old.slice(old.length - end).slice(0, CONTEXT);
  const removed = old.slice(start, old.length - end);
  const added = now.slice(start, now.length - end);
  const lines = [
    ...above.map((line) => `  ${line}`),
    ...removed.filter((line, at) => line !== "" || at < removed.length - 1).map((line) => `- ${line}`),
    ...added.filter((line, at) => line !== "" || at < added.length - 1).map((line) => `+ ${line}`),
    ...below.filter((line, at) => line !== "" || at < below.length - 1).map((line) => `  ${line}`),
  ];
  return `${file}:${Math.max(1, start + 1 - above.length)}\n${lines.join("\n")}\n`;
}
