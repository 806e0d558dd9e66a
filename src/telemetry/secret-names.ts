/** What a name says of the value under it: of a variable, a header, a flag, a member, a query parameter. */

/** Words that stand for nothing but secrets. Each is looked for on its own, so that the list can be read. */
const STRONG = new RegExp(
  [
    "(?:^|[-_.]|db|pg|sql|user|root|admin|smtp|mail|redis)pass(?:wd|code)?(?![a-z])",
    "passw|passphrase|pwd|secret|credential|authorization|bearer|cookie|webhook",
    "api[-_ .]?key|access[-_]?key|(?:private|signing|encryption|master|account|auth|service|license|ssh|deploy)[-_]?key",
    "conn(?:ection)?[-_]?str(?:ing)?",
    `(?<!progress|page|next|continuation|cancel|cancellation|progress[-_]|page[-_]|next[-_])token(?:$|[-_](?!s))`,
  ].join("|"),
  "i",
);
/** Words that stand for secrets often enough. */
const WEAK =
  /auth|session|dsn|signing|signature|(?:^|[-_.])(?:salt|pat|jwt|otp|pin|seed|mnemonic|key|cert|creds?|sid|hmac)(?:$|[-_.])|[a-z](?:Key|Pat|Salt)$/i;
/** What a name that ends so tells is about a secret, and is none. */
const SECRET_METADATA =
  /(?<!access[-_]?key)[-_.](?:file|path|dir|url|uri|endpoint|host|port|type|mode|method|name|id|ttl|timeout|expir(?:y|es|ation)|enabled|disabled|length|count|limit|size|scopes?|provider|algorithm|alg|store|ms|seconds)$/i;

/** Whether what stands under this name is secret whatever it looks like. */
export const isSecretName = (name: string): boolean => STRONG.test(name) && !SECRET_METADATA.test(name);

/** Whether what stands under this name may well be secret. */
export const mayBeSecretName = (name: string): boolean =>
  (STRONG.test(name) || WEAK.test(name)) && !SECRET_METADATA.test(name);

/** The same as `isSecretName` for members of log lines, where what is in the plural is counted or listed. */
export const isSecretField = (name: string): boolean =>
  isSecretName(name) &&
  (!/s$/i.test(name) || /(?:passwords|secrets|credentials|cookies|keys|tokens)$/i.test(name));

/** Words and small numbers, with what stands between them: `us-east-1`, `application/json`, `gpt-4`, `v1.2.3`. */
const WORDS = /^[\w.@+*~-]+(?:[ /,:;=]+[\w.@+*~-]+)*;?$/;
const MAX_WORDS_LENGTH = 200;
/** A part of letters may be so long, or one of digits, and still be a word or a number. */
const MAX_WORD_LENGTH = 14;
const MAX_NUMBER_LENGTH = 10;
/** More words in a row are a phrase, and may be one to pass with. */
const MAX_WORDS = 3;
const PATH = /^(?:[A-Za-z]:[\\/]|~?[\\/]|\.{1,2}[\\/])/;
const ADDRESS = /^[a-z][a-z0-9+.-]*:\/\//i;

/** Whether nobody would call it a secret: a word, a number, a path, an address, a list of such. */
export function isNonSecretValue(value: string): boolean {
  const text = value.trim();
  if (text === "" || text.length > MAX_WORDS_LENGTH) return text === "";
  if (ADDRESS.test(text)) return isNonSecretUrl(text);
  if (PATH.test(text)) return text.split(/[\\/:;, ]+/).every(isNonSecretPart);
  const words = text.split(" ");
  if (words.length > MAX_WORDS && !/[,;/]/.test(text)) return false;
  return WORDS.test(text) && text.split(/[ /,:;=]+/).every(isNonSecretPart);
}

/** An address that anybody may know: without credentials, without a query that could be one, without a part like a key. */
function isNonSecretUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { username, password, pathname, search, hash } = new URL(text);
  return (
    username === "" &&
    password === "" &&
    search === "" &&
    hash === "" &&
    pathname.split("/").every(isNonSecretPart)
  );
}

/** A part between separators: of words and short numbers that follow each other, and not of letters and digits mixed. */
function isNonSecretPart(part: string): boolean {
  const words = part.split(/[-_.@+*~]+/).filter((word) => word !== "");
  if (words.filter((word) => /^[A-Za-z]{2}/.test(word)).length > MAX_WORDS) return false;
  let mixed = 0;
  for (const word of words) {
    if (!isNonSecretWord(word)) return false;
    // `db2` and `v4` are words; `k3` after `x9` after `q7` is a key.
    if (/\d/.test(word) && /[A-Za-z]/.test(word)) mixed += 1;
  }
  return mixed <= 2;
}

/** Letters, digits, or one behind the other: `utf8`, `4o`, `10ms`. Capitals begin words of three letters and more. */
function isNonSecretWord(word: string): boolean {
  const [, letters = "", digits = "", unit = ""] =
    /^(?:([A-Za-z]*)(\d*)|(?:\d+)([A-Za-z]{1,2}))$/.exec(word) ?? [];
  if (letters + digits !== word && unit === "") return false;
  if (digits.length > (letters === "" ? MAX_NUMBER_LENGTH : 4) || word.length > MAX_WORD_LENGTH + 4)
    return false;
  const parts = letters.split(/(?<=[a-z])(?=[A-Z])/);
  return (
    parts.every((one) => one.length <= MAX_WORD_LENGTH) &&
    (parts.length === 1 || parts.every((one) => one.length > 2))
  );
}
