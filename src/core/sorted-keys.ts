/** The names of an object's members by code units; of very many without holding others up. */
import type { Steps } from "./cooperative-yield.js";
import type { Work } from "./steps.js";

/** Names that are sorted together: some 2 ms. */
const SORTED = 4_096;
/** To merge a name takes about as long as to search so many characters. */
const MERGED = 4;

/** To ask an object of 150,000 members for its names takes some 15 ms, in which nobody else can have a turn. */
export function* sortedKeys(object: object, work: Work): Steps<readonly string[]> {
  const keys = Object.keys(object);
  if (keys.length <= SORTED) return keys.sort();
  let runs: string[][] = [];
  for (let at = 0; at < keys.length; at += SORTED) {
    yield;
    runs.push(keys.slice(at, at + SORTED).sort());
  }
  while (runs.length > 1) {
    const longer: string[][] = [];
    for (let at = 0; at < runs.length; at += 2) {
      longer.push(yield* merged(runs[at] ?? [], runs[at + 1] ?? [], work));
    }
    runs = longer;
  }
  return runs[0] ?? [];
}

function* merged(one: readonly string[], other: readonly string[], work: Work): Steps<string[]> {
  const all: string[] = [];
  let at = 0;
  for (const name of one) {
    for (let next = other[at]; next !== undefined && next < name; next = other[at]) {
      all.push(next);
      at += 1;
    }
    all.push(name);
    if (work.isTurn(MERGED)) yield;
  }
  return all.concat(other.slice(at));
}
