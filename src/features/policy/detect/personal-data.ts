/** Finds e-mail addresses, numbers of cards and accounts, and phone numbers in texts. */
import { passesLuhn, passesMod97 } from "./checksums.js";
import { matchAt, placesOf, type Span, type Window } from "./detector.js";
import { IBAN_LENGTHS } from "./iban-lengths.js";

const LONGEST_LOCAL_PART = 64;
const AT_SIGN = /@/g;
const LOCAL_PART = /[\p{L}\p{N}._%+'&*=!#$/?^`{|}~-]{1,64}$/u;
const DOMAIN =
  /@(?:[\p{L}\p{N}](?:[\p{L}\p{N}-]{0,61}[\p{L}\p{N}])?\.){1,8}(?:\p{L}{2,24}|xn--[a-z0-9-]{2,58})(?![\p{L}\p{N}])/uy;

/** Addresses with a domain that has a dot. */
export function* emails(window: Window): Generator<Span> {
  const { text } = window;
  for (const at of placesOf(AT_SIGN, { ...window, from: Math.max(0, window.from - LONGEST_LOCAL_PART) })) {
    const before = text.slice(Math.max(0, at - LONGEST_LOCAL_PART), at);
    const local = LOCAL_PART.exec(before)?.[0].replace(/^[^\p{L}\p{N}]+/u, "") ?? "";
    const domain = local === "" ? undefined : matchAt(DOMAIN, text, at)?.[0];
    if (domain !== undefined) yield { start: at - local.length, end: at + domain.length };
  }
}

/** Where a number may begin: behind nothing that would make it a part of a longer one. */
const NUMBER_BEGIN = /(?<![\p{L}\p{N}_]|\d[.,]|\d{4}[ -])[2-6]\d{3}/gu;
const CARD =
  /\d{13,19}(?![\d]|[.,]\d|[ -]\d|[A-Za-z_])|\d{4}([ -])\d{4}\1\d{4}\1\d{1,4}(?:\1\d{3})?(?![\d]|[ -]\d|[A-Za-z_])|\d{4}([ -])\d{6}\2\d{4,5}(?![\d]|[ -]\d|[A-Za-z_])/y;
/** The first digits of the networks, and how many digits their numbers have. */
const NETWORKS: readonly (readonly [RegExp, readonly number[]])[] = [
  [/^4/, [13, 16, 19]],
  [/^(?:5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720)/, [16]],
  [/^3[47]/, [15]],
  [/^(?:6011|64[4-9]|65)/, [16, 17, 18, 19]],
  [/^35(?:2[89]|[3-8])/, [16, 17, 18, 19]],
  [/^3(?:0[0-5]|09|[689])/, [14, 16, 19]],
  [/^62/, [16, 17, 18, 19]],
  [/^(?:50|5[678]|6)/, [16, 17, 18, 19]],
];

/** Numbers of cards with the digits of a network, its length, and a check digit that is right. */
export function* cards(window: Window): Generator<Span> {
  for (const start of placesOfNumbers(NUMBER_BEGIN, window)) {
    const match = matchAt(CARD, window.text, start)?.[0];
    if (match === undefined) continue;
    const digits = match.replace(/[ -]/g, "");
    const isOfNetwork = NETWORKS.some(
      ([first, lengths]) => lengths.includes(digits.length) && first.test(digits),
    );
    if (isOfNetwork && passesLuhn(digits)) yield { start, end: start + match.length };
  }
}

const IBAN_BEGIN = /(?<![\p{L}\p{N}_])[A-Za-z]{2}\d{2}/gu;
const IBAN =
  /[A-Za-z]{2}\d{2}(?:[A-Za-z0-9]{11,30}|(?: [A-Za-z0-9]{4}){2,7}(?: [A-Za-z0-9]{1,3})?)(?![A-Za-z0-9])/y;

/** Account numbers with the length of their country and check digits that are right. */
export function* ibans(window: Window): Generator<Span> {
  for (const start of placesOfNumbers(IBAN_BEGIN, window)) {
    const match = matchAt(IBAN, window.text, start)?.[0];
    if (match === undefined) continue;
    const length = IBAN_LENGTHS.get(match.slice(0, 2).toUpperCase());
    const end = length === undefined ? undefined : endOf(match, length);
    if (end === undefined) continue;
    const iban = match.slice(0, end).replace(/ /g, "").toUpperCase();
    if (iban.length === length && passesMod97(iban)) yield { start, end: start + end };
  }
}

/** The end of the first `count` characters, without spaces; words of four letters may follow. */
function endOf(text: string, count: number): number | undefined {
  let left = count;
  for (let at = 0; at < text.length; at++) {
    if (text.charAt(at) !== " ") left -= 1;
    if (left === 0) return /[A-Za-z0-9]/.test(text.charAt(at + 1)) ? undefined : at + 1;
  }
  return undefined;
}

const PHONE_BEGIN = /(?<![\p{L}\p{N}_+]|\d[.,-])(?:\+|\(?[2-9]\d{2}[) .-])/gu;
const PHONE =
  /\+[1-9](?:[ ./()-]{0,3}\d){7,14}(?![ ./()-]{0,3}\d|[A-Za-z_])|\(?[2-9]\d{2}(?:\) ?|[ .-])[2-9]\d{2}[ .-]\d{4}(?![\d]|[.-]\d|[A-Za-z_])/y;

/** Numbers with the code of a country (`+49 30 …`), and those of North America with separators. */
export function* phones(window: Window): Generator<Span> {
  for (const start of placesOfNumbers(PHONE_BEGIN, window)) {
    const match = matchAt(PHONE, window.text, start)?.[0];
    if (match !== undefined) yield { start, end: start + match.length };
  }
}

/** What is looked at before a number, in characters. */
const LONGEST_BEFORE = 8;

/** The same where what stands before counts, and the window may begin behind it. */
function* placesOfNumbers(beginnings: RegExp, window: Window): Generator<number> {
  const from = Math.max(0, window.from - LONGEST_BEFORE);
  for (const at of placesOf(beginnings, { ...window, from })) if (at >= window.from) yield at;
}
