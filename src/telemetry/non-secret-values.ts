/** What in a config is plainly no secret, whatever name it stands under: to hide it would make logs unreadable. */

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
