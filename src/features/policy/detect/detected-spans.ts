/** Finds what `redact.detect` names in texts of any length, in slices that yield to the event loop. */
import type { Steps, Work } from "../../../runtime/cooperative-yield.js";
import type { DetectedKind, Detector, Span, Window } from "./detector.js";
import { cards, emails, ibans, phones } from "./personal-data.js";
import { secrets } from "./secrets.js";

const DETECTORS: Readonly<Record<DetectedKind, Detector>> = {
  secrets,
  email: emails,
  card: cards,
  iban: ibans,
  phone: phones,
};

/** What is searched in one slice, in characters. */
const WINDOW_LENGTH = 16_384;
/** A shorter text holds none of them: the shortest is an address such as `a@b.de`. */
const SHORTEST = 6;

/** All of `kinds` in the text, merged where they overlap, in order. */
export function* detectedSpans(
  text: string,
  kinds: readonly DetectedKind[],
  work: Work,
): Steps<readonly Span[]> {
  if (text.length < SHORTEST) return [];
  const found: Span[] = [];
  for (let from = 0; from < text.length; from += WINDOW_LENGTH) {
    const window: Window = { text, from, to: Math.min(text.length, from + WINDOW_LENGTH) };
    for (const kind of kinds) {
      yield* work.spend(window.to - from);
      for (const span of DETECTORS[kind](window)) found.push(span);
    }
  }
  return merged(found);
}

function merged(spans: Span[]): readonly Span[] {
  spans.sort((one, other) => one.start - other.start);
  const whole: { start: number; end: number }[] = [];
  for (const { start, end } of spans) {
    const last = whole.at(-1);
    if (last !== undefined && start < last.end) last.end = Math.max(last.end, end);
    else whole.push({ start, end });
  }
  return whole;
}

/** The text with `replacement` in place of each of the spans, which are in order. */
export function withoutSpans(text: string, spans: readonly Span[], replacement: string): string {
  const parts: string[] = [];
  let at = 0;
  for (const { start, end } of spans) {
    parts.push(text.slice(at, start), replacement);
    at = end;
  }
  parts.push(text.slice(at));
  return parts.join("");
}
