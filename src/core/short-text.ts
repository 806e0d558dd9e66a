/** How is a text shortened so that no part of a secret is left that redaction would not recognise? */

/** Characters before the cut that may belong to a token. */
const TOKEN_END = /[\w.~+=%-]{1,100}$/;

/**
 * The beginning of `text`, at most `max` characters, for a copy that is redacted later. A word that the cut would divide is left
 * out, unless it has more than 100 characters: its beginning shows what it is.
 */
export function shortText(text: string, max: number): string {
  if (text.length <= max) return text;
  const cut = text.slice(0, max);
  const word = TOKEN_END.exec(cut)?.[0] ?? "";
  const isDivided = word.length < 100 && word.length < cut.length && /[\w.~+=%-]/.test(text[max] ?? "");
  return isDivided ? cut.slice(0, cut.length - word.length) : cut;
}

/** The redacted beginning of `text`; redacted before it is cut. Of a long text only what may be shown is read. */
export const redactedStart = (redact: (text: string) => string, text: string, max: number): string =>
  redact(text.slice(0, 4 * max)).slice(0, max);
