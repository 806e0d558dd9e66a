/** Orders about tools of other servers, by their names. */
import type { Match, Severity } from "../finding.js";
import { isSpokenOf, type Sentences } from "../text/phrases.js";
import { bitsOf } from "../text/vocabulary.js";

/** What is known of names, as the definitions of one server see it. */
export interface KnownNames {
  /** Whether the server itself has a tool, prompt or parameter of this name. */
  isOwn(name: string): boolean;
  /** The other servers that have a tool of this name. */
  othersWith(name: string): readonly string[];
}

const TOOL = bitsOf(["tool"]);
const CALLED = bitsOf(["called"]);
const CHANGE = bitsOf(["change"]);
const WHEN = bitsOf(["when"]);
const URGED = bitsOf(["must", "first", "change", "covert"]);
const URGED_OR_ALSO = URGED | bitsOf(["also"]);
/** Orders to call something, not what the tool itself does. */
const CALLS: ReadonlySet<string> = new Set(["call", "invoke", "use", "run", "execute"]);
const OUTGOING = bitsOf(["send", "embed"]);
/** A name of two or more words. */
const COMPOUND = /^[a-z0-9]{2,}(?:[._-][a-z0-9]+)+$/;
/** Files, programs and addresses: `next.js`, `config.json`, `example.com`. */
const FILE_OR_ADDRESS =
  /\.(?:m?[jt]sx?|py|rb|go|rs|java|sh|md|txt|json5?|ya?ml|toml|xml|html?|css|csv|sql|lock|com|org|net|io|dev|ai|app)$/;
const LONGEST_NAME = 64;
/** How near (words) a verb is to the name that it is about. */
const NEAR = 4;

/** What `sentences` say of tools that the server does not have. */
export function* shadowingMatches(sentences: Sentences, names: KnownNames): Generator<Match> {
  const { words } = sentences;
  for (const [at, word] of words.entries()) {
    const { text } = word;
    if (text.length > LONGEST_NAME || !COMPOUND.test(text) || names.isOwn(text)) continue;
    const others = names.othersWith(text);
    if (others.length === 0 && FILE_OR_ADDRESS.test(text)) continue;
    const severity = others.length > 0 ? aboutKnown(sentences, at) : aboutUnknown(sentences, at);
    if (severity === undefined) continue;
    const message =
      others.length > 0
        ? `it speaks of a tool of ${others.length === 1 ? "the server" : "the servers"} ${others.slice(0, 3).join(", ")}`
        : "it says what is to be done with calls of another tool";
    yield { rule: "shadowing", severity, message, start: word.start, end: word.end };
  }
}

function aboutKnown(sentences: Sentences, at: number): Severity | undefined {
  const near = bitsNear(sentences, at);
  if ((near & (CALLED | CHANGE)) === 0 || isSpokenOf(sentences, at)) return "low";
  return (near & CHANGE) !== 0 ? "high" : "medium";
}

/** A name of which no server is known may be anything: only an order about its calls counts. */
function aboutUnknown(sentences: Sentences, at: number): Severity | undefined {
  const near = bitsNear(sentences, at);
  const { classes } = sentences;
  const isTool = (((classes[at + 1] ?? 0) | (classes[at - 1] ?? 0)) & TOOL) !== 0;
  const isChanged =
    ((classes[at - 1] ?? 0) & CHANGE) !== 0 || (isTool && (sentenceBits(sentences, at) & CHANGE) !== 0);
  const isHooked = (near & WHEN) !== 0 && (near & CALLED) !== 0 && isTool;
  const isHijacked = isHooked && (sentenceBits(sentences, at) & URGED & ~bitsOf(["first"])) !== 0;
  const urged = isQualified(sentences, at) ? URGED_OR_ALSO | WHEN : URGED_OR_ALSO;
  const isOrdered = isVerbBefore(sentences, at) && (sentenceBits(sentences, at) & urged) !== 0;
  const isSent = (near & CALLED) !== 0 && (sentenceBits(sentences, at) & bitsOf(["outside"])) !== 0;
  if (!isChanged && !isHijacked && !isOrdered && !(isSent && (near & OUTGOING) === 0)) return undefined;
  return isSpokenOf(sentences, at) ? "low" : "medium";
}

/** Whether an order to call it stands right before the name of a function: `then call http_post`. */
function isVerbBefore({ words }: Sentences, at: number): boolean {
  if (!/_/.test(words[at]?.text ?? "")) return false;
  const before = [words[at - 1], words[at - 2]];
  return before[0]?.isLast === false && before.some((word) => CALLS.has(word?.text ?? ""));
}

/** Whether the name has the server before it: `other_server.its_tool`. */
const isQualified = ({ words }: Sentences, at: number): boolean =>
  /[a-z0-9]\.[a-z]/.test(words[at]?.text ?? "");

function bitsNear({ words, classes, begins }: Sentences, at: number): number {
  let bits = 0;
  for (let look = Math.max(begins[at] ?? 0, at - NEAR); look < at; look++) bits |= classes[look] ?? 0;
  for (let look = at; look < at + NEAR && words[look]?.isLast === false; look++)
    bits |= classes[look + 1] ?? 0;
  return bits;
}

function sentenceBits({ words, classes, begins }: Sentences, at: number): number {
  let bits = 0;
  for (let look = begins[at] ?? at; look < words.length; look++) {
    bits |= classes[look] ?? 0;
    if (words[look]?.isLast === true) break;
  }
  return bits;
}
