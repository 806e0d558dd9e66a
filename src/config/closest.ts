/** Finds the most likely correction of a misspelled word. */

/**
 * The nearest of `known` within a third of the word's length in edits, ignoring case, or the only one with this prefix;
 * `undefined` if there is none.
 */
export function closest(word: string, known: readonly string[]): string | undefined {
  // Misspellings rarely change the beginning of a word.
  const begun = word.length >= 3 ? known.filter((candidate) => candidate.startsWith(word)) : [];
  if (begun.length === 1) return begun[0];
  const budget = Math.max(1, Math.floor(word.length / 3));
  let best: { readonly word: string; readonly edits: number } | undefined;
  for (const candidate of known) {
    if (Math.abs(candidate.length - word.length) > budget) continue;
    const edits = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (edits <= budget && (best === undefined || edits < best.edits)) best = { word: candidate, edits };
  }
  return best?.word;
}

/** Damerau-Levenshtein distance: inserts, deletes, replacements, swaps of neighbours. */
function editDistance(from: string, to: string): number {
  let before: number[] = [];
  let above = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= to.length; j += 1) {
      const change = from[i - 1] === to[j - 1] ? 0 : 1;
      let edits = Math.min((above[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (above[j - 1] ?? 0) + change);
      if (i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1]) {
        edits = Math.min(edits, (before[j - 2] ?? 0) + 1);
      }
      row.push(edits);
    }
    before = above;
    above = row;
  }
  return above[to.length] ?? 0;
}
