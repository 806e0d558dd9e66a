/** Finds in definitions what servers should not say. Deterministic, and linear in the length of their texts. */
import { type Steps, Work } from "../../runtime/cooperative-yield.js";
import { stringAt } from "../../wire/json.js";
import { excerptOf } from "./excerpt.js";
import {
  type Definition,
  type Finding,
  isAtLeast,
  type Match,
  type RuleId,
  type Severity,
} from "./finding.js";
import { defaultMatches } from "./rules/defaults.js";
import { encodedMatches } from "./rules/encoded-text.js";
import { hiddenMatches } from "./rules/hidden-text.js";
import { labelMatches } from "./rules/marked-text.js";
import { nameMatches } from "./rules/names.js";
import { phraseMatches } from "./rules/phrase-rules.js";
import { type KnownNames, shadowingMatches } from "./rules/shadowing.js";
import { Surroundings } from "./surroundings.js";
import { sentencesOf } from "./text/phrases.js";
import { wordsOf } from "./text/words.js";
import { type DefinitionText, textsOf } from "./texts.js";

/** A longer text is scanned in pieces of this length (UTF-16 code units). */
const PIECE = 16_384;
/** Pieces overlap by this, so that nothing is lost between two. */
const OVERLAP = 512;
/** A scan costs more than a search for one pattern; and what a text of any length costs. */
const WORK_FACTOR = 6;
const BASE_WORK = 192;
/** No more findings of one definition are kept. */
const MAX_FINDINGS = 50;
/** From this number of rules in one definition on, each finding is more severe. */
const MANY_RULES = 3;

/** Scans `definitions`, each beside all of them. Yields between pieces of work. */
export function* findingsIn(definitions: readonly Definition[]): Steps<readonly Finding[]> {
  const found: Finding[] = [];
  yield* scanEach(definitions, definitions, (_, findings) => found.push(...findings));
  return found;
}

/** The same beside all of `known`. `onScanned`: called with the findings of each, which may be none. */
export function* scanEach(
  definitions: readonly Definition[],
  known: Iterable<Definition>,
  onScanned: (definition: Definition, findings: readonly Finding[]) => void,
): Steps<void> {
  const work = new Work();
  const surroundings = yield* Surroundings.of(known, work);
  for (const definition of definitions)
    onScanned(definition, yield* findingsOf(definition, surroundings, work));
}

/** Scans one definition. */
function* findingsOf(
  definition: Definition,
  surroundings: Surroundings,
  work: Work,
): Steps<readonly Finding[]> {
  const { server, kind, name, item } = definition;
  const found = new Map<string, Finding>();
  const keep = ({ start, end, ...match }: Match, text: string, pointer: string): void => {
    const key = `${match.rule} ${pointer}`;
    const known = found.get(key);
    if (known === undefined ? found.size >= MAX_FINDINGS : isAtLeast(known.severity, match.severity)) return;
    found.set(key, { ...match, server, kind, name, pointer, excerpt: excerptOf(text, start, end) });
  };
  const names = surroundings.namesFor(definition);
  if (kind === "tools") {
    const tool = { name, description: stringAt(item, "description") ?? "" };
    for (const match of nameMatches(tool, surroundings.alike(definition))) keep(match, name, "/name");
  }
  for (const text of textsOf(item)) {
    for (const piece of piecesOf(text.text)) {
      yield* work.spend(WORK_FACTOR * piece.length + BASE_WORK);
      for (const match of matchesIn({ ...text, text: piece }, names)) keep(match, piece, text.pointer);
    }
  }
  return raised([...found.values()]);
}

function* piecesOf(text: string): Generator<string> {
  if (text.length <= PIECE) yield text;
  else for (let from = 0; from < text.length; from += PIECE) yield text.slice(from, from + PIECE + OVERLAP);
}

function* matchesIn({ text, use, of }: DefinitionText, names: KnownNames): Generator<Match> {
  yield* hiddenMatches(text);
  if (use === "value") yield* defaultMatches(of, text);
  const spoken = use === "name" ? text.replace(/_|(?<=[a-z])(?=[A-Z])/g, " ") : text;
  if (text.length < SHORTEST || (use === "name" && spoken.split(" ").length < SHORTEST_NAME)) return;
  yield* labelMatches(text);
  const words = wordsOf(spoken);
  if (words.some(({ start, end }) => end - start >= SHORTEST_ENCODED)) yield* encodedMatches(text);
  const sentences = sentencesOf(words);
  yield* phraseMatches(sentences);
  if (use === "text") yield* shadowingMatches(sentences, names);
}

/** Shorter texts order nothing. */
const SHORTEST = 8;
/** An encoded text has a longer word (UTF-16 code units); other characters may stand between its words. */
const SHORTEST_ENCODED = 16;
/** Names of fewer words order nothing. */
const SHORTEST_NAME = 4;

/** Several rules in one definition make each of them more severe. */
function raised(findings: readonly Finding[]): readonly Finding[] {
  const rules = new Set<RuleId>();
  for (const { rule, severity } of findings) if (isAtLeast(severity, "medium")) rules.add(rule);
  if (rules.size < MANY_RULES) return findings;
  return findings.map((finding) =>
    isAtLeast(finding.severity, "medium") ? { ...finding, severity: "high" satisfies Severity } : finding,
  );
}
