/** Values that are known to be secret, found in texts in time linear in the text, however many they are. */

/** Shorter values are left alone: a redactor that knows "8080" or "true" would make every log unreadable. */
const MIN_SECRET_LENGTH = 6;
/** What is left of a value that somebody has cut off is taken out from so many characters on. */
const MIN_PIECE_LENGTH = 8;
/** A beginning of so many characters is taken out whatever follows it. */
const SURE_PIECE_LENGTH = 12;
/** What stands where a text was cut off. */
const ELLIPSIS = /…|\.\.\.|\[cut\]/g;

export class KnownSecrets {
  /** By their first characters, the longest first: one that contains another must go as a whole. */
  readonly #byStart = new Map<string, string[]>();
  readonly #known = new Set<string>();
  /** Marks the first two characters of each; nearly every place of a text is passed over by a look at it. */
  readonly #starts = new Uint8Array(HASH_SIZE);
  /** All of them, for pieces that have lost their beginning. */
  #joined = "";

  get isEmpty(): boolean {
    return this.#known.size === 0;
  }

  /** Remembers a value in all the forms in which it may come back. */
  add(value: string): void {
    for (const form of encodingsOf(value)) if (form.length >= MIN_SECRET_LENGTH) this.#addForm(form);
  }

  #addForm(form: string): void {
    if (this.#known.has(form)) return;
    this.#known.add(form);
    this.#joined += `\0${form}`;
    this.#starts[startHash(form, 0)] = 1;
    const start = form.slice(0, MIN_SECRET_LENGTH);
    const alike = this.#byStart.get(start) ?? [];
    alike.push(form);
    alike.sort((a, b) => b.length - a.length);
    this.#byStart.set(start, alike);
  }

  /** The text with `mark` in the place of each. */
  replace(text: string, mark: string): string {
    if (this.isEmpty || text.length < MIN_SECRET_LENGTH) return text;
    const parts: string[] = [];
    let kept = 0;
    const take = (from: number, to: number): void => {
      parts.push(text.slice(kept, from), mark);
      kept = to;
    };
    const cuts = [0, ...[...text.matchAll(ELLIPSIS)].map(({ index, 0: { length } }) => index + length)];
    let nextCut = 0;
    for (let at = 0; at + MIN_SECRET_LENGTH <= text.length; ) {
      let end: number | undefined;
      if (at === cuts[nextCut]) {
        nextCut += 1;
        end = this.#pieceAt(text, at);
      }
      if (this.#starts[startHash(text, at)] === 1) end ??= this.#secretAt(text, at);
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
    const alike = this.#byStart.get(text.slice(at, at + MIN_SECRET_LENGTH));
    if (alike === undefined) return undefined;
    const whole = alike.find((secret) => text.startsWith(secret, at));
    if (whole !== undefined) return at + whole.length;
    for (const secret of alike) {
      const same = commonPrefixLength(text, at, secret);
      const end = at + same;
      if (same >= SURE_PIECE_LENGTH) return end;
      if (
        same >= MIN_PIECE_LENGTH &&
        (end === text.length || /^(?:…|\.\.\.|\[cut\])/.test(text.slice(end, end + 5)))
      ) {
        return end;
      }
    }
    return undefined;
  }

  /** Where the rest of a secret ends whose beginning was cut off before `at`. */
  #pieceAt(text: string, at: number): number | undefined {
    const piece = text.slice(at, at + MIN_PIECE_LENGTH);
    if (piece.length < MIN_PIECE_LENGTH || piece.includes("\0")) return undefined;
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

const HASH_SIZE = 65_536;
const startHash = (text: string, at: number): number =>
  (text.charCodeAt(at) * 251 + text.charCodeAt(at + 1)) % HASH_SIZE;

/** How many characters of `secret` stand at this place. */
function commonPrefixLength(text: string, at: number, secret: string): number {
  let length = 0;
  while (length < secret.length && text.charCodeAt(at + length) === secret.charCodeAt(length)) length += 1;
  return length;
}

/** A value as programs, URLs, JSON, JSON in JSON, headers and log lines write it. */
function encodingsOf(value: string): ReadonlySet<string> {
  const forms = new Set<string>();
  const lines = value.split(/\r?\n/).filter((line) => line.length >= MIN_PIECE_LENGTH);
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
    if (plain.length >= MIN_PIECE_LENGTH) for (const form of base64Forms(plain)) forms.add(form);
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
