/** What a person who is asked for an approval sees of the arguments: all of them, or what matters most of them. */
import { createHash } from "node:crypto";
import { cooperativeYield } from "../../runtime/cooperative-yield.js";
import { ExactNumber, isObject, type JsonObject } from "../../wire/json.js";
import { writeJson } from "../../wire/json-text.js";
import { measureJson } from "./measured-json.js";

/** Text for a person, and what of it is left out. */
export interface DisplayedText {
  readonly text: string;
  /** Absent if all of it is shown; of the whole text, so that a person can compare it. */
  readonly cut?: { readonly bytes: number; readonly sha256: string };
}

/** Characters of all arguments, of one member of them, of one text or number, and of the name of a member. */
const MAX_DISPLAYED = 4_000;
const MAX_MEMBER = 1_200;
const MAX_TEXT = 200;
/** The same in members that matter. */
const MAX_IMPORTANT_TEXT = 1_000;
const MAX_KEY = 80;
const MAX_DEPTH = 8;
/** The most inner members that are searched for a named one. */
const MAX_RANKED_INNER = 200;

/**
 * The JSON text of `args`. What matters most comes first: members that conditions of rules refer to (`named`), then those
 * that are called like things a tool acts on, then all others. Where not all can be shown, the short ones come before the
 * long ones, so that nothing pushes the rest out of sight. Whatever could fool the eye is written as an escape.
 */
export async function displayedArguments(
  args: JsonObject,
  named: ReadonlySet<string>,
): Promise<DisplayedText> {
  const { first, rest } = await rankMembers(args, named);
  const members = first.map(({ key, rank, position }) => {
    const longest = rank < LOWEST_RANK ? MAX_IMPORTANT_TEXT : MAX_TEXT;
    const state: DisplayState = { remaining: MAX_MEMBER, isCut: false, longest, named };
    const text = `${keyText(key, state)}:${valueText(args[key], 1, state)}`;
    return { text, place: position, isCut: state.isCut, rank };
  });
  const length = members.reduce((sum, { text }) => sum + text.length + 1, 1);
  const fits = rest === 0 && length <= MAX_DISPLAYED;
  const ordered = members.toSorted(
    (a, b) => a.rank - b.rank || (fits ? 0 : a.text.length - b.text.length) || a.place - b.place,
  );
  const texts = ordered.map((member) => member.text);
  if (rest > 0) texts.push(`… (${rest} more members, which are not shown)`);
  const text = shortened(`{${texts.join(",")}}`, MAX_DISPLAYED);
  return fits && !members.some(({ isCut }) => isCut) ? { text } : { text, cut: await measureJson(args) };
}

interface RankedMember {
  readonly key: string;
  readonly rank: number;
  readonly position: number;
}

/** The members that a person should see first, as many as there could be room for; and how many there are beside. */
async function rankMembers(args: JsonObject, named: ReadonlySet<string>) {
  const keys = Object.keys(args);
  if (keys.length <= MAX_MEMBERS) {
    const ranked = keys.map(
      (key, position): RankedMember => ({ key, rank: rankOf(key, args[key], named), position }),
    );
    return { first: ranked, rest: 0 };
  }
  // Of very many only the names are looked at.
  const ranked = new Map(RANKS.map((rank): [number, RankedMember[]] => [rank, []]));
  for (const [position, key] of keys.entries()) {
    if (position % RANKED_PER_SLICE === 0) await cooperativeYield();
    const rank = rankOfKey(key, named);
    const alike = ranked.get(rank);
    if (alike !== undefined && alike.length < MAX_MEMBERS) alike.push({ key, rank, position });
  }
  const first = [...ranked.values()].flat().slice(0, MAX_MEMBERS);
  return { first, rest: keys.length - first.length };
}

/** More than there is room for: the shortest takes five characters. */
const MAX_MEMBERS = 800;
/** Names that are looked at before others get their turn: some 2 ms. */
const RANKED_PER_SLICE = 4_000;

/** A name or URI as a person may see it, without quotes around it. */
export function displayedName(name: string, longest: number): DisplayedText {
  const text = escapeDeceptive(writeJson(name.slice(0, longest)).slice(1, -1));
  if (name.length <= longest) return { text };
  return { text: `${text}${missing(name.length - longest)}`, cut: measured(name) };
}

/** Whether the JSON text of `value` has at most about `most` characters; visits no more than that. */
export function isShort(value: unknown, characters: number): boolean {
  let left = characters;
  const open: unknown[] = [value];
  for (let next = open.pop(); next !== undefined && left >= 0; next = open.pop()) {
    left -= 1;
    if (typeof next === "string") left -= next.length;
    if (typeof next !== "object" || next === null) continue;
    for (const key in next) {
      left -= Array.isArray(next) ? 1 : key.length;
      if (left < 0) return false;
      open.push((next as JsonObject)[key]);
    }
  }
  return left >= 0;
}

const measured = (whole: string) => ({
  bytes: Buffer.byteLength(whole),
  sha256: createHash("sha256").update(whole).digest("hex"),
});

/** What is written of one member. */
interface DisplayState {
  /** Characters that there is room for. */
  remaining: number;
  isCut: boolean;
  /** Characters of one text or number. */
  readonly longest: number;
  readonly named: ReadonlySet<string>;
}

function valueText(value: unknown, depth: number, state: DisplayState): string {
  if (value instanceof ExactNumber) return shortText(value.source, state.longest, state);
  if (typeof value === "string") {
    const short = shortText(value, state.longest, state);
    return spent(escapeDeceptive(writeJson(short)), state);
  }
  if (typeof value !== "object" || value === null) return spent(writeJson(value), state);
  if (depth >= MAX_DEPTH || state.remaining <= 0) {
    state.isCut = true;
    return Array.isArray(value) ? "[…]" : "{…}";
  }
  if (Array.isArray(value)) {
    return `[${joinWhileRoom(value, state, (item) => valueText(item, depth + 1, state))}]`;
  }
  const members = Object.entries(value)
    .map(([key, inner], place) => ({ key, inner, place, rank: rankOf(key, inner, state.named) }))
    .toSorted((a, b) => a.rank - b.rank || a.place - b.place);
  const text = joinWhileRoom(members, state, ({ key, inner }) => {
    return `${keyText(key, state)}:${valueText(inner, depth + 1, state)}`;
  });
  return `{${text}}`;
}

/** The texts of as many items as there is room for. */
function joinWhileRoom<Item>(
  items: readonly Item[],
  state: DisplayState,
  write: (item: Item) => string,
): string {
  const texts: string[] = [];
  for (const item of items) {
    if (state.remaining <= 0) {
      state.isCut = true;
      texts.push(`… (${items.length - texts.length} more, which are not shown)`);
      break;
    }
    texts.push(write(item));
  }
  return texts.join(",");
}

const keyText = (key: string, state: DisplayState): string =>
  spent(escapeDeceptive(writeJson(shortText(key, MAX_KEY, state))), state);

function spent(text: string, state: DisplayState): string {
  state.remaining -= text.length + 1;
  return text;
}

function shortText(text: string, longest: number, state: DisplayState): string {
  if (text.length > longest) state.isCut = true;
  return shortened(text, longest);
}

/** A text that is too long ends with how much of it is missing. */
const shortened = (text: string, longest: number): string =>
  text.length > longest ? `${text.slice(0, longest)}${missing(text.length - longest)}` : text;

const missing = (characters: number): string => `… (${characters} more characters, which are not shown)`;

/** The less, the sooner a person should see it. */
function rankOf(key: string, value: unknown, named: ReadonlySet<string>): number {
  const own = rankOfKey(key, named);
  if (own === 0 || typeof value !== "object" || value === null || value instanceof ExactNumber) return own;
  // What stands inside counts a little less.
  let least = own;
  let looked = 0;
  const open: object[] = [value];
  for (let next = open.shift(); next !== undefined && looked < MAX_RANKED_INNER; next = open.shift()) {
    for (const inner in next) {
      looked += 1;
      if (looked > MAX_RANKED_INNER) break;
      if (!Array.isArray(next)) least = Math.min(least, rankOfKey(inner, named) + 0.5);
      const below: unknown = (next as JsonObject)[inner];
      if (isObject(below) || Array.isArray(below)) open.push(below);
    }
  }
  return least;
}

const LOWEST_RANK = 4;
const RANKS = [0, 1, 2, LOWEST_RANK];

function rankOfKey(key: string, named: ReadonlySet<string>): number {
  if (key.length > MAX_KEY) return LOWEST_RANK;
  if (named.has(key)) return 0;
  if (IMPORTANT_WORDS.has(key.toLowerCase())) return 1;
  const words = key
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z]+/);
  return words.some((word) => IMPORTANT_WORDS.has(word)) ? 2 : LOWEST_RANK;
}

/** Words for what a tool acts on, and how. */
const IMPORTANT_WORDS: ReadonlySet<string> = new Set(
  (
    "env environment stage region zone cluster namespace project tenant organization " +
    "path paths file files filename dir directory folder cwd root source src destination dest target targets " +
    "command cmd commands args argv script code shell exec program binary package image entrypoint " +
    "url urls uri href link endpoint host hostname domain address ip port proxy webhook callback " +
    "query sql statement expression filter where selector condition pattern glob " +
    "database db table schema collection bucket key keys branch ref tag commit repo repository remote " +
    "to cc bcc from recipient recipients email phone user username account owner group role roles permission " +
    "permissions scope policy amount price currency quantity limit count " +
    "force recursive delete remove drop overwrite purge confirm dryrun production prod sudo admin all " +
    "method headers header body content message subject data input token secret password credentials name id"
  ).split(" "),
);

/**
 * Controls, format characters, whatever is drawn as nothing or as a blank that is none, private and unassigned
 * characters, and piles of marks.
 */
const DECEPTIVE =
  /(?! )[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Zs}\p{Co}\p{Cn}\p{Default_Ignorable_Code_Point}\u2800]|(?<=\p{M}{3})\p{M}/gu;

const escapeDeceptive = (text: string): string =>
  text.replace(DECEPTIVE, (found) =>
    Array.from(
      { length: found.length },
      (_, unit) => `\\u${found.charCodeAt(unit).toString(16).padStart(4, "0")}`,
    ).join(""),
  );
