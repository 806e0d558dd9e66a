/** Which line of a program's output says why it failed? Stack traces, dumped objects and usage texts follow that line. */

/** `Error: …`, `TypeError: …`, `mcp.shared.exceptions.McpError: …`, `Fatal …`, `panic: …` at the beginning of a line. */
const ERROR = /^[ \t]*(?:[\w.]*(?:Error|Exception)|error|ERROR|[Ff]atal|panic)\b/;
/** Words with which other lines say it, such as `npm error code E404` or `"msg": "API key missing"`. */
const COMPLAINT =
  /\b(?:error|err|fatal|exception|failed|failure|cannot|can't|could not|unable|missing|required|must (?:be|set)|not (?:found|set|defined|provided)|denied|refused|invalid|unauthorized|no such)\b|\w(?:Error|Exception)\b/i;

/**
 * The index of that line: the last that begins as an error, else the first that complains; `undefined` where none does.
 * Lines of terminal sequences are to be taken out before.
 */
export function indexOfError(lines: readonly string[]): number | undefined {
  const last = lines.findLastIndex((line) => ERROR.test(line));
  const found = last === -1 ? lines.findIndex((line) => COMPLAINT.test(line)) : last;
  return found === -1 ? undefined : found;
}
