/** Scores are those of a plain computation, and say nothing of tools that are hidden. */
import { expect, test } from "vitest";
import { buildToolIndex } from "../../../../src/features/tool-search/ranking/build-index.js";
import { type Concept, readQuery } from "../../../../src/features/tool-search/ranking/query.js";
import {
  FIELDS,
  fieldTerms,
  type SearchableTool,
} from "../../../../src/features/tool-search/ranking/tool-text.js";
import fc from "../../../support/fast-check.js";
import { server, tool } from "./support.js";

const github = server("github");
const WORDS = [
  "read",
  "file",
  "issue",
  "pullRequest",
  "天気",
  "the",
  "delete_row",
  "Émile",
  "pr",
  "remove",
  "and then",
];
const someTools = fc
  .array(
    fc.record({
      name: fc.array(fc.constantFrom(...WORDS), { minLength: 1, maxLength: 3 }),
      of: fc.constantFrom(server("files"), github),
      description: fc.array(fc.constantFrom(...WORDS), { maxLength: 8 }),
    }),
    { maxLength: 12 },
  )
  .map((all) =>
    all.map(({ name, of, description }, at) =>
      tool(`${name.join("_")}_${at}`, description.join(" "), { of }),
    ),
  );
const someQuery = fc
  .array(fc.constantFrom(...WORDS, "zebra", ". Then"), { maxLength: 4 })
  .map((words) => words.join(" "));

test("a view gives what an index of its visible tools alone gives", async () => {
  await fc.assert(
    fc.asyncProperty(
      someTools,
      fc.array(fc.boolean(), { minLength: 12, maxLength: 12 }),
      someQuery,
      async (tools, shown, query) => {
        const visible = tools.filter((_, at) => shown[at]);
        const view = (await buildToolIndex(tools)).viewOf((entry) => shown[entry] === true);
        const alone = (await buildToolIndex(visible)).all;
        for (const q of [query, ...tools.map(({ name }) => name)]) {
          const options = { limit: 4 };
          const seen = view.search(q, options);
          const expected = alone.search(q, options);
          expect(seen.total).toBe(expected.total);
          expect(seen.hits.map(({ entry, ...rest }) => ({ ...rest, tool: tools[entry] }))).toEqual(
            expected.hits.map(({ entry, ...rest }) => ({ ...rest, tool: visible[entry] })),
          );
        }
      },
    ),
  );
});

test("the first hits are the same whatever the limit is", async () => {
  await fc.assert(
    fc.asyncProperty(someTools, someQuery, fc.nat(15), async (tools, query, limit) => {
      const { all } = await buildToolIndex(tools);
      const every = all.search(query, { limit: tools.length });
      expect(all.search(query, { limit })).toEqual({ ...every, hits: every.hits.slice(0, limit) });
      expect(every.total).toBe(every.hits.length);
    }),
  );
});

/** BM25F as it is written down: over all tools, for one after the other. */
function plainScores(tools: readonly SearchableTool[], concepts: readonly Concept[]): readonly number[] {
  const weights = tools.map((one) => {
    const frequencies = new Map<string, number>();
    for (const [at, terms] of fieldTerms(one, new Map()).entries()) {
      const { weight, length, b } = FIELDS[at] ?? expect.fail("a field without weight");
      for (const term of terms) {
        const count = weight / (1 - b + (b * terms.length) / length);
        frequencies.set(term, (frequencies.get(term) ?? 0) + count);
      }
    }
    return (term: string) => {
      const frequency = frequencies.get(term) ?? 0;
      return Math.fround(frequency / (1.2 + frequency));
    };
  });
  const rarity = (term: string): number => {
    const having = weights.filter((weigh) => weigh(term) > 0).length;
    return having === 0 ? 0 : Math.log(1 + (tools.length - having + 0.5) / (having + 0.5));
  };
  return weights.map((weigh) =>
    concepts.reduce((sum, concept) => {
      const own = rarity(concept[0].term) || Number.POSITIVE_INFINITY;
      return (
        sum +
        Math.max(...concept.map(({ term, weight }) => weight * Math.min(own, rarity(term)) * weigh(term)))
      );
    }, 0),
  );
}

test("scores are those of a plain computation", async () => {
  await fc.assert(
    fc.asyncProperty(someTools, someQuery, async (tools, text) => {
      const index = await buildToolIndex(tools);
      const { concepts, parts } = readQuery(text, index.synonyms);
      const whole = plainScores(tools, concepts);
      const top = Math.max(...whole);
      const inParts = parts.map((part) =>
        plainScores(
          tools,
          part.map((at) => concepts[at] as Concept),
        ),
      );
      const expected = whole.map((score, at) => {
        if (parts.length === 0) return score;
        const shares = inParts.map((scores) => {
          const best = Math.max(...scores);
          if (best === 0) return 0;
          return scores[at] === best ? 1 : (0.8 * (scores[at] ?? 0)) / best;
        });
        return score / 2 + (top * Math.max(...shares)) / 2;
      });
      const least = 0.2 * Math.max(...expected);
      const { hits } = index.all.search(text, { limit: tools.length });
      for (const [at, score] of expected.entries()) {
        const found = hits.find(({ entry }) => entry === at)?.score;
        if (score > least + 1e-9 || found !== undefined) expect(found).toBeCloseTo(score, 9);
        if (score < least - 1e-9) expect(found).toBeUndefined();
      }
    }),
  );
});
