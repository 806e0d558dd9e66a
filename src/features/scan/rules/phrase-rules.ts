/** Orders in texts: sequences of words that a description of a tool does not need. */
import type { Match, RuleId, Severity } from "../finding.js";
import {
  endOfSequence,
  hasInSentence,
  isSpokenOf,
  type Sentences,
  type Step,
  sequence,
} from "../text/phrases.js";
import { bitsOf, type WordClass } from "../text/vocabulary.js";

interface PhraseRule {
  readonly rule: RuleId;
  readonly severity: Severity;
  readonly message: string;
  readonly steps: readonly Step[];
  /** Words of which one must be elsewhere in the sentence. */
  readonly beside?: number;
  /** The severity where a word of `worseBeside` is in the sentence. */
  readonly worse?: Severity;
  readonly worseBeside?: number;
}

const bits = (classes: string): number => bitsOf(classes.split(" ") as WordClass[]);

const PHRASES: readonly PhraseRule[] = [
  {
    rule: "override-instructions",
    severity: "high",
    message: "it asks to ignore instructions that were given before",
    steps: sequence([0, "ignore"], [2, "prior"], [3, "instruction talk"]),
  },
  {
    rule: "override-instructions",
    severity: "medium",
    message: "it asks to ignore instructions or safety rules",
    steps: sequence([0, "ignore"], [4, "safety"], [2, "instruction"]),
    worse: "high",
    worseBeside: bits("must obey model"),
  },
  {
    rule: "override-instructions",
    severity: "medium",
    message: "it asks to ignore safety rules",
    steps: sequence([0, "ignore"], [2, "safety"]),
    beside: bits("must obey model user every covert called first"),
  },
  {
    rule: "override-instructions",
    severity: "medium",
    message: "it asks to follow instructions of other texts",
    steps: sequence([0, "obey"], [4, "instruction"], [3, "within"]),
  },
  {
    rule: "secrecy",
    severity: "medium",
    message: "it asks to keep something from the user",
    steps: sequence([0, "not"], [2, "tell"], [7, "user"]),
    worse: "high",
    worseBeside: bits("path leak talk"),
  },
  {
    rule: "secrecy",
    severity: "medium",
    message: "it asks to keep something back",
    steps: sequence([0, "not"], [2, "confess"]),
  },
  {
    rule: "secrecy",
    severity: "medium",
    message: "it asks for something without the knowledge of the user",
    steps: sequence([0, "not"], [3, "know"]),
    beside: bits("user covert secret path"),
  },
  {
    rule: "secrecy",
    severity: "medium",
    message: "it asks to do something unnoticed",
    steps: sequence([0, "covert"], [5, "send embed read called change"]),
    worse: "high",
    worseBeside: bits("secret path talk outside"),
  },
  {
    rule: "exfiltration",
    severity: "high",
    message: "it asks to send secrets or private data elsewhere",
    steps: sequence([0, "send"], [9, "secret path talk"], [9, "outside"]),
  },
  {
    rule: "exfiltration",
    severity: "high",
    message: "it asks to send secrets or private data elsewhere",
    steps: sequence([0, "secret path talk"], [8, "send"], [8, "outside"]),
  },
  {
    rule: "exfiltration",
    severity: "high",
    message: "it speaks of leaking data",
    steps: sequence([0, "leak"]),
  },
  {
    rule: "exfiltration",
    severity: "medium",
    message: "it sends a copy of data elsewhere, beside what the tool is for",
    steps: sequence([0, "also"], [4, "send"], [9, "outside"]),
  },
  {
    rule: "exfiltration",
    severity: "medium",
    message: "it sends a copy of data elsewhere, beside what the tool is for",
    steps: sequence([0, "send"], [1, "also"], [6, "outside"]),
  },
  {
    rule: "exfiltration",
    severity: "medium",
    message: "it sends data elsewhere, beside what the tool is for",
    steps: sequence([0, "send change"], [9, "outside"]),
    beside: bits("must first also every covert"),
  },
  {
    rule: "sensitive-data",
    severity: "medium",
    message: "it asks for the whole conversation",
    steps: sequence([0, "every"], [2, "talk"]),
  },
  {
    rule: "sensitive-data",
    severity: "medium",
    message: "it names a file that holds secrets",
    steps: sequence([0, "path"]),
  },
  {
    rule: "sensitive-data",
    severity: "high",
    message: "it asks to read a file that holds secrets, or to pass it on",
    steps: sequence([0, "read embed send"], [8, "path"]),
    beside: bits("must first embed send covert"),
  },
  {
    rule: "sensitive-data",
    severity: "medium",
    message: "it asks for the conversation or the prompt of the system",
    steps: sequence([0, "embed send read tell"], [6, "talk"]),
    worse: "high",
    worseBeside: bits("outside covert leak"),
  },
  {
    rule: "sensitive-data",
    severity: "medium",
    message: "it asks for all secrets",
    steps: sequence([0, "every"], [2, "secret"]),
    beside: bits("embed send covert"),
  },
  {
    rule: "order-to-model",
    severity: "medium",
    message: "it tells the model what to do",
    steps: sequence([0, "model"], [2, "must"], [8, "read send embed called"]),
  },
  {
    rule: "sensitive-data",
    severity: "medium",
    message: "it asks to add secrets of the user",
    steps: sequence([0, "embed send"], [5, "secret"]),
    beside: bits("covert every leak outside"),
  },
  {
    rule: "shadowing",
    severity: "medium",
    message: "it says what is to be done at calls of other tools",
    steps: sequence([0, "when"], [3, "every"], [1, "tool"]),
    beside: bits("must first"),
  },
  {
    rule: "shadowing",
    severity: "medium",
    message: "it asks to use this tool in place of others",
    steps: sequence([0, "not ignore"], [2, "called"], [3, "every"], [1, "tool"]),
  },
  {
    rule: "shadowing",
    severity: "medium",
    message: "it asks to use this tool in place of others",
    steps: sequence([0, "prefer"], [8, "every"], [2, "tool"]),
  },
  {
    rule: "order-to-model",
    severity: "medium",
    message: "it asks for something else before or after the tool is used",
    steps: sequence(
      [0, "when"],
      [2, "called"],
      [2, "tool"],
      [8, "read send embed"],
      [8, "secret path talk outside"],
    ),
  },
  {
    rule: "shadowing",
    severity: "medium",
    message: "it asks for calls at every request",
    steps: sequence([0, "must"], [5, "called"], [8, "every"], [2, "work"]),
  },
];

/** The phrases by their first class. */
const FIRST = PHRASES.map(({ steps }) => steps[0]?.bits ?? 0);
const ANY_FIRST = FIRST.reduce((all, each) => all | each, 0);

/** What the phrases find. Time is linear in the number of words. */
export function* phraseMatches(sentences: Sentences): Generator<Match> {
  const { classes } = sentences;
  for (let at = 0; at < classes.length; at++) {
    const own = classes[at] ?? 0;
    if ((own & ANY_FIRST) === 0) continue;
    for (const [index, phrase] of PHRASES.entries()) {
      if ((own & (FIRST[index] ?? 0)) === 0) continue;
      const match = matchOf(phrase, sentences, at);
      if (match !== undefined) yield match;
    }
  }
}

function matchOf(phrase: PhraseRule, sentences: Sentences, at: number): Match | undefined {
  const end = endOfSequence(sentences, at, phrase.steps);
  if (end === undefined) return undefined;
  const { beside = 0, worse = phrase.severity, worseBeside = 0, rule, message } = phrase;
  if (beside !== 0 && !hasInSentence(sentences, at, beside)) return undefined;
  const isWorse = worseBeside !== 0 && hasInSentence(sentences, at, worseBeside);
  const severity = isSpokenOf(sentences, at) ? "low" : isWorse ? worse : phrase.severity;
  const { words } = sentences;
  return { rule, message, severity, start: words[at]?.start ?? 0, end: words[end]?.end ?? 0 };
}
