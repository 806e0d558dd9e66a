/** Base64 and hexadecimal texts, and what they say. */
import type { Match } from "../finding.js";

/** Each alternative is a run of one class, so that the time is linear. */
const RUN = /[A-Za-z0-9+/_-]{24,}={0,2}/g;
const HEX = /^(?:[0-9a-fA-F]{2}){16,}$/;
/** Longer ones are not decoded as a whole. */
const MAX_DECODED = 4_096;
/** Encoded bytes of this length are hardly an example. */
const LONG = 400;

const COMMAND =
  /\b(?:curl|wget|chmod|powershell|Invoke-WebRequest|base64 -d|eval|nc|ncat|socat)\b|\brm -|\/bin\/(?:ba)?sh|\/dev\/tcp\/|\| ?(?:ba)?sh\b|\d{1,3}(?:\.\d{1,3}){3}:\d{2,5}/;
const ORDER =
  /\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:instructions?|rules|prompt)\b|do not (?:tell|mention|inform)|\bid_rsa\b|\.ssh\/|\bexfiltrat|\bsystem prompt\b|send .{0,80}\bto https?:/i;

/** What is encoded in `text`, decoded where it is text. */
export function* encodedMatches(text: string): Generator<Match> {
  for (const { 0: run, index } of text.matchAll(RUN)) {
    if (isWords(run)) continue;
    const at = { rule: "encoded-text", start: index, end: index + run.length } as const;
    const decoded = decodedText(run);
    if (decoded !== undefined && COMMAND.test(decoded)) {
      yield { ...at, severity: "high", message: "it hides a command in an encoded text" };
    } else if (decoded !== undefined && ORDER.test(decoded)) {
      yield { ...at, severity: "high", message: "it hides an order in an encoded text" };
    } else if (decoded !== undefined) {
      yield { ...at, severity: "low", message: "it has an encoded text" };
    } else if (run.length >= LONG && !isPicture(text, index)) {
      yield { ...at, severity: "low", message: "it has long encoded bytes" };
    }
  }
}

/** Whether a run is words with separators, a path or a name, as in `repos_list-collaborators/for-authenticated`. */
const isWords = (run: string): boolean =>
  !/[0-9+=]/.test(run) && (/[_/-]/.test(run) || !/[a-z][A-Z]{2}|[A-Z]{3}/.test(run));

const isPicture = (text: string, index: number): boolean =>
  /data:[a-z]{4,12}\/[a-z0-9.+-]{1,40};base64,$/i.test(text.slice(Math.max(0, index - 80), index));

/** Undefined if it is no text. */
function decodedText(run: string): string | undefined {
  const own = run.slice(0, MAX_DECODED);
  const isHex = HEX.test(own);
  const bytes = Buffer.from(own, isHex ? "hex" : "base64");
  const text = bytes.toString("utf8");
  return bytes.length >= 12 && /^[\x20-\x7e\s]+$/.test(text) && / |\/|\{/.test(text) ? text : undefined;
}
