/** Values that are known to be secret, found in texts in time linear in the text, however many they are. */

/** Shorter values are left alone: a redactor that knows "8080" or "true" would make every log unreadable. */
const SHORTEST = 6;
/** What is left of a value that somebody has cut off is taken out from so many characters on. */
const SHORTEST_PIECE = 8;
/** A beginning of so many characters is taken out whatever follows it. */
const LONG_PIECE = 12;
/** What stands where a text was cut off. */
const CUT = /…|\.\.\.|\[cut\]/g;

export class KnownSecrets {
  /** By their first characters, the longest first: one that contains another must go as a whole. */
  readonly #byStart = new Map<string, string[]>();
  readonly #known = new Set<string>();
  /** Marks the first two characters of each; nearly every place of a text is passed over by a look at it. */
  readonly #starts = new Uint8Array(STARTS);
  /** All of them, for pieces that have lost their beginning. */
  #joined = "";

  get isEmpty(): boolean {
    return this.#known.size === 0;
  }

  /** Remembers a value in all the forms in which it may come back. */
  add(value: string): void {
    for (const form of formsOf(value)) if (form.length >= SHORTEST) this.#addForm(form);
  }

  #addForm(form: string): void {
    if (this.#known.has(form)) return;
    this.#known.add(form);
    this.#joined += `\0${form}`;
    this.#starts[startOf(form, 0)] = 1;
    const start = form.slice(0, SHORTEST);
    const alike = this.#byStart.get(start) ?? [];
    alike.push(form);
    alike.sort((a, b) => b.length - a.length);
    this.#byStart.set(start, alike);
  }

  /** The text with `mark` in the place of each. */
  replace(text: string, mark: string): string {
    if (this.isEmpty || text.length < SHORTEST) return text;
    const parts: string[] = [];
    let kept = 0;
    const take = (from: number, to: number): void => {
      parts.push(text.slice(kept, from), mark);
      kept = to;
    };
    const cuts = [0, ...[...text.matchAll(CUT)].map(({ index, 0: { length } }) => index + length)];
    let nextCut = 0;
    for (let at = 0; at + SHORTEST <= text.length; ) {
      let end: number | undefined;
      if (at === cuts[nextCut]) {
        nextCut += 1;
        end = this.#pieceAt(text, at);
      }
      if (this.#starts[startOf(text, at)] === 1) end ??= this.#secretAt(text, at);
      if (end === undefined) at += 1;
      else {
        take(at, end);
        at = end;
        while ((cuts[nextCut] ?? Number.POSITIVE_INFINITY) < at) nextCut += 1;
      }
    }
    if (parts.length === 0) return text;
    parts.push(text.slice(kept));
    return parts.join("");
  }

  /** Where the secret ends that begins here, whole or cut off. */
  #secretAt(text: string, at: number): number | undefined {
    const alike = this.#byStart.get(text.slice(at, at + SHORTEST));
    if (alike === undefined) return undefined;
    const whole = alike.find((secret) => text.startsWith(secret, at));
    if (whole !== undefined) return at + whole.length;
    for (const secret of alike) {
      const same = sameLength(text, at, secret);
      const end = at + same;
      if (same >= LONG_PIECE) return end;
      if (
        same >= SHORTEST_PIECE &&
        (end === text.length || /^(?:…|\.\.\.|\[cut\])/.test(text.slice(end, end + 5)))
      ) {
        return end;
      }
    }
    return undefined;
  }

  /** Where the rest of a secret ends whose beginning was cut off before `at`. */
  #pieceAt(text: string, at: number): number | undefined {
    const piece = text.slice(at, at + SHORTEST_PIECE);
    if (piece.length < SHORTEST_PIECE || piece.includes("\0")) return undefined;
    let longest = 0;
    for (
      let found = this.#joined.indexOf(piece);
      found !== -1;
      found = this.#joined.indexOf(piece, found + 1)
    ) {
      const end = this.#joined.indexOf("\0", found);
      const rest = this.#joined.slice(found, end === -1 ? undefined : end);
      if (text.startsWith(rest, at)) longest = Math.max(longest, rest.length);
    }
    return longest === 0 ? undefined : at + longest;
  }
}

const STARTS = 65_536;
const startOf = (text: string, at: number): number =>
  (text.charCodeAt(at) * 251 + text.charCodeAt(at + 1)) % STARTS;

/** How many characters of `secret` stand at this place. */
function sameLength(text: string, at: number, secret: string): number {
  let length = 0;
  while (length < secret.length && text.charCodeAt(at + length) === secret.charCodeAt(length)) length += 1;
  return length;
}

/** A value as programs, URLs, JSON, JSON in JSON, headers and log lines write it. */
function formsOf(value: string): ReadonlySet<string> {
  const forms = new Set<string>();
  const lines = value.split(/\r?\n/).filter((line) => line.length >= SHORTEST_PIECE);
  const collapsed = value.replace(/\s+/g, " ").trim();
  for (const plain of [
    value,
    value.trim(),
    collapsed,
    ...(lines.length > 1 ? lines.map((line) => line.trim()) : []),
  ]) {
    forms.add(plain);
    const once = inJson(plain);
    forms.add(once).add(inJson(once));
    forms.add(percentEncoded(plain)).add(percentEncoded(plain).toLowerCase());
    forms.add(percentEncoded(plain).replaceAll("%20", "+"));
    if (plain.length >= SHORTEST_PIECE) for (const form of base64Forms(plain)) forms.add(form);
  }
  return forms;
}

const inJson = (text: string): string => JSON.stringify(text).slice(1, -1);
const percentEncoded = (text: string): string => encodeURIComponent(text.toWellFormed());

/** What stays the same of its Base64 wherever in a longer text it stands, in both alphabets. */
function base64Forms(text: string): readonly string[] {
  const bytes = Buffer.from(text);
  return [0, 1, 2].flatMap((offset) => {
    const padded = Buffer.concat([Buffer.alloc(offset), bytes]);
    // The first and the last character hang on what stands beside it.
    const from = offset === 0 ? 0 : offset + 1;
    const to = Math.floor((padded.length * 8) / 6);
    return [padded.toString("base64").slice(from, to), padded.toString("base64url").slice(from, to)];
  });
}
