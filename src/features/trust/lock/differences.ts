/** In what do the definitions of a server differ from those that its lock has approved? */
import { LIST_KINDS, LISTS, type ListKind } from "../../../core/lists.js";
import { isSame, type JsonObject } from "../../../wire/json.js";
import { writeJson } from "../../../wire/json-text.js";
import { definitionDigest, definitionOf, nameOf } from "./definition.js";
import { isSameStart, type ServerLock, type StartLine } from "./lock.js";

/** How a definition differs from the approved ones. */
type Change = "changed" | "new" | "removed";

/** What differs: an entry of a list, or what the server says of itself. */
type DifferenceKind = ListKind | "instructions" | "name" | "start";

/** One difference. */
export interface Difference {
  readonly kind: DifferenceKind;
  /** The server's own name or URI of an entry; empty for the others. */
  readonly name: string;
  readonly change: Change;
  /** Those that are approved, one for each class of clients; empty for what is new. */
  readonly approved: readonly unknown[];
  /** What the server has now; empty for what was removed. */
  readonly now: readonly unknown[];
  /** For a new entry: the name of a removed one with the most similar text. */
  readonly renamedFrom?: string;
}

/** What a server lists and says of itself now, of all classes of clients. */
export interface CurrentServer extends Omit<ServerLock, "start" | "lists"> {
  /** Undefined while it is not known. */
  readonly start?: StartLine | undefined;
  /** A list that is not known is undefined. */
  readonly lists: Readonly<Record<ListKind, readonly JsonObject[] | undefined>>;
  /** Whether it was met, so that its name and instructions are known. */
  readonly isMet: boolean;
}

/** In the order of the file: what the server says of itself, then tools, prompts, resources and templates by name. */
export function differencesOf(approved: ServerLock, current: CurrentServer): readonly Difference[] {
  return [
    ...(current.start === undefined || isSameStart(approved.start, current.start)
      ? []
      : [differenceOf("start", approved.start, current.start)]),
    ...(current.isMet
      ? [
          differenceOf("name", approved.name, current.name),
          differenceOf("instructions", approved.instructions, current.instructions),
        ].filter((each) => !isSame(each.approved, each.now))
      : []),
    ...LIST_KINDS.flatMap((kind) => listDifferences(kind, approved.lists[kind], current.lists[kind])),
  ];
}

const differenceOf = (kind: DifferenceKind, before: unknown, now: unknown): Difference => ({
  ...{ kind, name: "", approved: [before ?? []].flat(), now: [now ?? []].flat() },
  change: before === undefined ? "new" : now === undefined ? "removed" : "changed",
});

function listDifferences(
  kind: ListKind,
  approved: readonly JsonObject[],
  current: readonly JsonObject[] | undefined,
): readonly Difference[] {
  if (current === undefined) return [];
  const before = byName(kind, approved);
  const now = byName(kind, current);
  const names = [...new Set([...before.keys(), ...now.keys()])].sort();
  const found = names.flatMap((name): readonly Difference[] => {
    const [earlier = [], later = []] = [before.get(name), now.get(name)];
    const change = changeOf(kind, earlier, later);
    if (change === undefined) return [];
    const [was, is] = [earlier, later].map((items) => items.map((item) => definitionOf(kind, item)));
    return [{ kind, name, change, approved: was ?? [], now: is ?? [] }];
  });
  return withRenames(found);
}

/** The same for what is approved as for what a client sees of it: one of the definitions is enough. */
function changeOf(
  kind: ListKind,
  approved: readonly JsonObject[],
  now: readonly JsonObject[],
): Change | undefined {
  if (approved.length === 0) return "new";
  if (now.length === 0) return "removed";
  const known = new Set(approved.map((item) => definitionDigest(kind, item)));
  return now.every((item) => known.has(definitionDigest(kind, item))) ? undefined : "changed";
}

/** The entries by name; different definitions of one name once each. */
export function byName(
  kind: ListKind,
  items: readonly JsonObject[],
): ReadonlyMap<string, readonly JsonObject[]> {
  const all = new Map<string, JsonObject[]>();
  const seen = new Set<string>();
  for (const item of items) {
    const name = nameOf(kind, item);
    const key = `${name}\0${definitionDigest(kind, item)}`;
    if (seen.has(key)) continue;
    seen.add(key);
    const known = all.get(name);
    if (known === undefined) all.set(name, [item]);
    else known.push(item);
  }
  return all;
}

/** Texts are compared with at most this many removed entries. */
const MAX_COMPARED = 50;
/** Of the words of a new entry, the share that a removed one must have. */
const SIMILAR = 0.6;
const MAX_WORDS = 2_000;

/** A new entry whose text is mostly that of a removed one was probably renamed. */
function withRenames(found: readonly Difference[]): readonly Difference[] {
  const removed = found
    .filter(({ change }) => change === "removed")
    .slice(0, MAX_COMPARED)
    .map((each) => ({ name: each.name, words: wordsOf(each.approved[0]) }));
  if (removed.length === 0) return found;
  let compared = 0;
  return found.map((each) => {
    if (each.change !== "new" || compared >= MAX_COMPARED) return each;
    compared += 1;
    const words = wordsOf(each.now[0]);
    const [best] = removed
      .map(({ name, words: earlier }) => ({ name, share: shareOf(words, earlier) }))
      .toSorted((a, b) => b.share - a.share);
    return best !== undefined && best.share >= SIMILAR ? { ...each, renamedFrom: best.name } : each;
  });
}

function wordsOf(definition: unknown): ReadonlySet<string> {
  const { name: _, title: __, ...rest } = (definition ?? {}) as JsonObject;
  return new Set((writeJson(rest).match(/[\p{L}\p{N}]+/gu) ?? []).slice(0, MAX_WORDS));
}

/** Shared words of all words that one of both has. */
function shareOf(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  let shared = 0;
  for (const word of a) if (b.has(word)) shared += 1;
  const all = a.size + b.size - shared;
  return all === 0 ? 0 : shared / all;
}

/** The word for one thing that differs. */
const NOUNS: Readonly<Record<DifferenceKind, string>> = {
  tools: LISTS.tools.noun,
  prompts: LISTS.prompts.noun,
  resources: LISTS.resources.noun,
  resourceTemplates: LISTS.resourceTemplates.noun,
  instructions: "instructions",
  name: "name of the server",
  start: "start line",
};

/** `tool search` or `instructions`. */
export const subjectOf = ({ kind, name }: Pick<Difference, "kind" | "name">): string =>
  name === "" ? NOUNS[kind] : `${NOUNS[kind]} ${name}`;
