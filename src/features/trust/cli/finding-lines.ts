/** What the scan finds in definitions that a person is asked to approve. */
import { LIST_KINDS, type ListKind } from "../../../core/lists.js";
import { isObject } from "../../../wire/json.js";
import { definitionOf } from "../../scan/definitions.js";
import { type Definition, type Finding, RULES_PAGE, SEVERITIES } from "../../scan/finding.js";
import { scanEach } from "../../scan/scan.js";
import type { CurrentServer, Difference } from "../lock/differences.js";
import { sentenceOf } from "../scans.js";

/** Lines about each finding in what differs now, the most severe first; none if nothing is found. */
export function findingLines(
  differences: readonly Difference[],
  server: string,
  current: ReadonlyMap<string, CurrentServer>,
): readonly string[] {
  const known = [...current].flatMap(([name, { lists }]) =>
    LIST_KINDS.flatMap((kind) => (lists[kind] ?? []).map((item) => definitionOf(name, kind, item))),
  );
  const found: Finding[] = [];
  const scan = scanEach(
    differences.flatMap((each) => definitionsIn(each, server)),
    known,
    (_, findings) => found.push(...findings),
  );
  while (scan.next().done !== true);
  if (found.length === 0) return [];
  const sorted = found.toSorted((a, b) => SEVERITIES.indexOf(b.severity) - SEVERITIES.indexOf(a.severity));
  return [
    `the scan finds (${RULES_PAGE}):`,
    ...sorted.flatMap((each) => [
      `  ${each.severity.padEnd(6)}  ${sentenceOf(each)} at ${each.pointer}`,
      `          ${each.excerpt}`,
    ]),
  ];
}

function definitionsIn({ kind, now }: Difference, server: string): readonly Definition[] {
  if (kind === "instructions")
    return now.map((instructions) => ({ server, kind: "server", name: server, item: { instructions } }));
  if (!isListKind(kind)) return [];
  return now.flatMap((item) => (isObject(item) ? [definitionOf(server, kind, item)] : []));
}

const isListKind = (kind: string): kind is ListKind => (LIST_KINDS as readonly string[]).includes(kind);
