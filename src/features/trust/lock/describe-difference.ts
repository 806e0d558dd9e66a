/** What differs, in words: a clause for a person at a host, and lines for a reviewer. */
import { isObject, isSame } from "../../../wire/json.js";
import { writeJson } from "../../../wire/json-text.js";
import { sortedKeys } from "./definition.js";
import { type Difference, subjectOf } from "./differences.js";

/** Members that are named; of more there is the number. */
const MAX_NAMED = 4;

/** `its description and inputSchema have changed`, `it is new`; without texts of the server. */
export function clauseOf(difference: Difference): string {
  const { change, approved, now, renamedFrom } = difference;
  if (change === "removed") return "it is no longer there";
  if (change === "new")
    return renamedFrom === undefined ? "it is new" : "it is new, with the text of another one that is gone";
  const members = changedMembers(approved[0], now[0]);
  if (members.length === 0) return "it has changed";
  return `its ${listed(members)} ${members.length === 1 ? "has" : "have"} changed`;
}

/** The members that differ, or are in only one of both; none where one of them is no object. */
function changedMembers(before: unknown, now: unknown): readonly string[] {
  if (!isObject(before) || !isObject(now)) return [];
  const keys = [...new Set([...Object.keys(before), ...Object.keys(now)])].sort();
  const memberOf = (object: typeof before, key: string) =>
    Object.hasOwn(object, key) ? object[key] : undefined;
  const found = keys.filter((key) => !isSame(memberOf(before, key), memberOf(now, key)));
  // A key is a text of the server, too.
  return found.map((key) => (/^[A-Za-z_$][\w$./-]{0,40}$/.test(key) ? key : "other members"));
}

function listed(words: readonly string[]): string {
  const unique = [...new Set(words)];
  const shown = unique.slice(0, MAX_NAMED);
  const more = unique.length - shown.length;
  const all = more === 0 ? shown : [...shown, `${more} more`];
  return all.length === 1 ? (all[0] ?? "") : `${all.slice(0, -1).join(", ")} and ${all.at(-1)}`;
}

/** Context lines around what has changed. */
const CONTEXT = 2;
/** Lines of longer texts are not compared, but shown as removed and added. */
const MAX_LINES = 2_000;
const LONGEST_LINE = 4_000;

/** The lines that differ, with a sign before each, for a terminal. */
export function diffLines(difference: Difference): readonly string[] {
  const { approved, now, change, renamedFrom } = difference;
  const head = `${{ new: "+", removed: "-", changed: "~" }[change]} ${subjectOf(difference)}${
    renamedFrom === undefined ? "" : ` (text like that of ${renamedFrom}, which is gone)`
  }`;
  const [before, after] = [approved, now].map(textLines);
  return [head, ...changedLines(before ?? [], after ?? []).map((line) => `    ${line}`)];
}

/** The definitions as they stand in the file; texts with line breaks as several lines. */
const textLines = (definitions: readonly unknown[]): readonly string[] =>
  definitions.flatMap((definition) =>
    (typeof definition === "string" ? definition : writeJson(sortedKeys(definition), 2))
      .split("\n")
      .flatMap((line) => line.split(/(?<=\\n)/))
      .map((line) => (line.length > LONGEST_LINE ? `${line.slice(0, LONGEST_LINE)}…` : line)),
  );

function changedLines(before: readonly string[], now: readonly string[]): readonly string[] {
  const script = editScript(before, now);
  const keep = new Set<number>();
  script.forEach(({ sign }, at) => {
    if (sign === " ") return;
    for (let near = at - CONTEXT; near <= at + CONTEXT; near++) keep.add(near);
  });
  const lines: string[] = [];
  let last = -1;
  script.forEach(({ sign, line }, at) => {
    if (!keep.has(at)) return;
    if (at > last + 1 && last !== -1) lines.push("…");
    last = at;
    lines.push(`${sign} ${line}`);
  });
  return lines;
}

interface Edit {
  readonly sign: " " | "-" | "+";
  readonly line: string;
}

/** The longest common lines stay; long texts are compared at their ends only. */
function editScript(before: readonly string[], now: readonly string[]): readonly Edit[] {
  let start = 0;
  while (start < before.length && start < now.length && before[start] === now[start]) start += 1;
  let end = 0;
  const most = Math.min(before.length, now.length) - start;
  while (end < most && before[before.length - 1 - end] === now[now.length - 1 - end]) end += 1;
  const [old, fresh] = [before.slice(start, before.length - end), now.slice(start, now.length - end)];
  const same = (lines: readonly string[]): readonly Edit[] => lines.map((line) => ({ sign: " ", line }));
  return [
    ...same(before.slice(0, start)),
    ...(old.length * fresh.length > MAX_LINES * MAX_LINES ? replaced(old, fresh) : common(old, fresh)),
    ...same(before.slice(before.length - end)),
  ];
}

const replaced = (old: readonly string[], fresh: readonly string[]): readonly Edit[] => [
  ...old.map((line): Edit => ({ sign: "-", line })),
  ...fresh.map((line): Edit => ({ sign: "+", line })),
];

/** By the table of the longest common subsequence. */
function common(old: readonly string[], fresh: readonly string[]): readonly Edit[] {
  const width = fresh.length + 1;
  const lengths = new Uint16Array((old.length + 1) * width);
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = fresh.length - 1; j >= 0; j--) {
      const at = i * width + j;
      lengths[at] =
        old[i] === fresh[j]
          ? (lengths[at + width + 1] ?? 0) + 1
          : Math.max(lengths[at + width] ?? 0, lengths[at + 1] ?? 0);
    }
  }
  const edits: Edit[] = [];
  let [i, j] = [0, 0];
  while (i < old.length && j < fresh.length) {
    if (old[i] === fresh[j]) {
      edits.push({ sign: " ", line: old[i] ?? "" });
      i += 1;
      j += 1;
    } else if ((lengths[(i + 1) * width + j] ?? 0) >= (lengths[i * width + j + 1] ?? 0)) {
      edits.push({ sign: "-", line: old[i] ?? "" });
      i += 1;
    } else {
      edits.push({ sign: "+", line: fresh[j] ?? "" });
      j += 1;
    }
  }
  return [...edits, ...replaced(old.slice(i), fresh.slice(j))];
}
