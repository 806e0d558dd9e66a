/** Is a value secret by its name (of a variable, header, flag, member, parameter), or plainly not by its text? */

/** Words that always mean a secret. */
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
/** Words that often mean a secret. */
const WEAK =
  /auth|session|dsn|signing|signature|(?:^|[-_.])(?:salt|pat|jwt|otp|pin|seed|mnemonic|key|cert|creds?|sid|hmac)(?:$|[-_.])|[a-z](?:Key|Pat|Salt)$/i;
/** Endings of names of facts about a secret, which are not secret themselves. */
const SECRET_METADATA =
  /(?<!access[-_]?key)[-_.](?:file|path|dir|url|uri|endpoint|host|port|type|mode|method|name|id|ttl|timeout|expir(?:y|es|ation)|enabled|disabled|length|count|limit|size|scopes?|provider|algorithm|alg|store|ms|seconds)$/i;

/** Whether the value of this name is secret whatever its text. */
export const isSecretName = (name: string): boolean => STRONG.test(name) && !SECRET_METADATA.test(name);

/** Whether the value of this name may be secret. */
export const mayBeSecretName = (name: string): boolean =>
  (STRONG.test(name) || WEAK.test(name)) && !SECRET_METADATA.test(name);

/** `isSecretName` for log fields, where plurals are counts or lists. */
export const isSecretField = (name: string): boolean =>
  isSecretName(name) &&
  (!/s$/i.test(name) || /(?:passwords|secrets|credentials|cookies|keys|tokens)$/i.test(name));

/** Words and small numbers with separators: `us-east-1`, `application/json`, `gpt-4`, `v1.2.3`. */
const WORDS = /^[\w.@+*~-]+(?:[ /,:;=]+[\w.@+*~-]+)*;?$/;
const MAX_WORDS_LENGTH = 200;
/** Limits (characters) of a word and of a number. */
const MAX_WORD_LENGTH = 14;
const MAX_NUMBER_LENGTH = 10;
/** More words may be a passphrase. */
const MAX_WORDS = 3;
const PATH = /^(?:[A-Za-z]:[\\/]|~?[\\/]|\.{1,2}[\\/])/;
const ADDRESS = /^[a-z][a-z0-9+.-]*:\/\//i;

/** Whether the text is plainly no secret: a word, a number, a path, a URL, a list of such. */
export function isNonSecretValue(value: string): boolean {
  const text = value.trim();
  if (text === "" || text.length > MAX_WORDS_LENGTH) return text === "";
  if (ADDRESS.test(text)) return isNonSecretUrl(text);
  if (PATH.test(text)) return text.split(/[\\/:;, ]+/).every(isNonSecretPart);
  const words = text.split(" ");
  if (words.length > MAX_WORDS && !/[,;/]/.test(text)) return false;
  return WORDS.test(text) && text.split(/[ /,:;=]+/).every(isNonSecretPart);
}

/** A URL without credentials, query, fragment and path segments that look like keys. */
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

/** A part between separators: words and short numbers, with few parts that mix letters and digits. */
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

/** Letters, digits, or one after the other: `utf8`, `4o`, `10ms`. Words of a camelCase name have three or more letters. */
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
