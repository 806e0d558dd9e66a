/**
 * Is a value secret by its name (of a variable, header, flag, member, parameter) or by its format, or plainly not by its
 * text? No repetition is nested in another, so matching takes linear time.
 */

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

/** Where a token may begin: not after a word character, except an escape. */
const START = String.raw`(?:(?<![\w-])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2}))`;
/** The characters of most tokens. */
const TOKEN_CHARACTER = String.raw`[\w-]`;

/** Tokens with the prefix of their issuer. */
const TOKENS: readonly string[] = [
  // Code hosts and registries
  ...[
    String.raw`gh[opusr]_\w{16,}`,
    String.raw`github_pat_\w{16,}`,
    `gl(?:pat|dt|rt|soat|cbt|ptt|ft|imt|agent|ffct)-${TOKEN_CHARACTER}{16,}`,
  ],
  ...[
    String.raw`npm_\w{16,}`,
    `pypi-${TOKEN_CHARACTER}{16,}`,
    "rubygems_[0-9a-f]{32,}",
    `dckr_[po]at_${TOKEN_CHARACTER}{16,}`,
    String.raw`crates_\w{20,}`,
  ],
  ...[
    String.raw`AT(?:ATT|CTT|BB)\w[\w=-]{16,}`,
    String.raw`CCIPAT_\w{16,}`,
    String.raw`bkua_\w{16,}`,
    "sq[pua]_[0-9a-f]{32,}",
  ],
  // Messages
  ...[
    `xox[abceoprs](?:\\.xox[bp])?-${TOKEN_CHARACTER}{10,}`,
    `xapp-${TOKEN_CHARACTER}{10,}`,
    String.raw`\d{8,10}:[\w-]{30,}`,
  ],
  ...[
    String.raw`[MNO][\w-]{22,30}\.[\w-]{5,7}\.[\w-]{25,}`,
    `mfa\\.${TOKEN_CHARACTER}{40,}`,
    "(?:SK|AC)[0-9a-f]{32}",
  ],
  ...[
    `SG\\.${TOKEN_CHARACTER}{16,}\\.${TOKEN_CHARACTER}{16,}`,
    "key-[0-9a-f]{32}",
    String.raw`[0-9a-f]{32}-us\d{1,2}`,
    `xkeysib-${TOKEN_CHARACTER}{32,}`,
  ],
  // Payments and shops
  ...[
    `(?:sk|pk|rk)[-_]${TOKEN_CHARACTER}{16,}`,
    String.raw`whsec_[\w+/=]{16,}`,
    "shp(?:at|ca|pa|ss|tka)_[0-9A-Fa-f]{24,}",
  ],
  ...[
    `EAAA${TOKEN_CHARACTER}{40,}`,
    `sq0(?:atp|csp|idp)-${TOKEN_CHARACTER}{20,}`,
    String.raw`access_token\$\w+\$[0-9a-z]+\$[0-9a-f]{32}`,
  ],
  // Clouds
  ...[
    "A(?:KIA|SIA|BIA|CCA|ROA|IDA|GPA|IPA|NPA|NVA)[0-9A-Z]{16}",
    String.raw`AIza[\w-]{30,}`,
    `ya29\\.${TOKEN_CHARACTER}{10,}`,
  ],
  ...[
    `GOCSPX-${TOKEN_CHARACTER}{20,}`,
    String.raw`1//0[\w-]{20,}`,
    "do[opr]_v1_[0-9a-f]{32,}",
    String.raw`dapi[0-9a-f]{32}(?:-\d+)?`,
  ],
  ...[
    String.raw`[\w.~]{3}\dQ~[\w.~-]{31,34}`,
    `dp\\.(?:pt|st|ct|sa|scim|audit)\\.[\\w.-]{20,}`,
    String.raw`hv[bsr]\.[\w-]{20,}`,
  ],
  ...[
    String.raw`s\.[A-Za-z0-9]{24}(?!\w)`,
    String.raw`\w{14}\.atlasv1\.[\w-]{40,}`,
    `fo1_${TOKEN_CHARACTER}{20,}`,
    String.raw`fm[12][ar]?_[\w+/=]{20,}`,
  ],
  ...[
    String.raw`HRKU-[\w-]{20,}`,
    `nfp_${TOKEN_CHARACTER}{20,}`,
    String.raw`rnd_\w{20,}`,
    String.raw`vc[apkir]_\w{20,}`,
    `tskey-${TOKEN_CHARACTER}{10,}`,
    "pul-[0-9a-f]{32,}",
  ],
  ...[
    "v1\\.0-[0-9a-f]{20,}-[0-9a-f]{60,}",
    String.raw`cf(?:ut|at|k)_\w{20,}`,
    String.raw`ops_eyJ[\w-]{20,}`,
    String.raw`LTAI\w{12,}`,
    String.raw`AKID\w{13,}`,
  ],
  // Models
  ...[
    `sess-${TOKEN_CHARACTER}{20,}`,
    String.raw`(?:hf|api_org)_\w{16,}`,
    String.raw`r8_\w{20,}`,
    String.raw`gsk_\w{20,}`,
    `xai-${TOKEN_CHARACTER}{20,}`,
    `pplx-${TOKEN_CHARACTER}{20,}`,
  ],
  ...[
    `tvly-${TOKEN_CHARACTER}{16,}`,
    `fc-[0-9a-f]{20,}`,
    String.raw`pcsk_\w{20,}`,
    `lsv2_${TOKEN_CHARACTER}{20,}`,
    String.raw`BSA[\w-]{24,}`,
    String.raw`e2b_\w{20,}`,
    String.raw`bb_live_\w{16,}`,
  ],
  // Databases, work, observability
  ...[
    String.raw`sb(?:p|_secret|_publishable)_\w{16,}`,
    String.raw`pscale_(?:tkn|pw|oauth)_[\w.-]{20,}`,
    String.raw`napi_\w{20,}`,
    String.raw`lin_(?:api|oauth)_\w{16,}`,
  ],
  ...[
    String.raw`ntn_\w{20,}`,
    String.raw`secret_\w{20,}`,
    String.raw`pat[A-Za-z0-9]{14}\.[0-9a-f]{32,}`,
    `PMAK-${TOKEN_CHARACTER}{20,}`,
    `CFPAT-${TOKEN_CHARACTER}{20,}`,
    `figd_${TOKEN_CHARACTER}{20,}`,
  ],
  ...[
    `NR(?:AK|JS|II|RA|BR)-[A-Z0-9a-z]{16,}`,
    String.raw`gl(?:sa|c)_[\w+/=-]{20,}`,
    String.raw`sntry[su]_[\w+/=-]{20,}`,
    String.raw`dd(?:ap|pub|app)[_-]?\w{30,}`,
  ],
  ...[
    String.raw`phc_\w{20,}`,
    String.raw`phx_\w{20,}`,
    `apify_api_${TOKEN_CHARACTER}{20,}`,
    `(?:api|sdk|mob)-[0-9a-f]{8}-[0-9a-f-]{27}`,
    `sl\\.${TOKEN_CHARACTER}{40,}`,
  ],
  // Of this gateway
  String.raw`cardea_[\w-]{43}(?![\w-])`,
  "AGE-SECRET-KEY-1[0-9A-Za-z]{30,}",
  // Signed tokens
  String.raw`eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*(?:\.[\w-]+\.[\w-]+)?`,
];

/** Between the words of a header: white space, also as an escape of JSON or of a URL. */
const GAP = String.raw`(?:\s|\\{1,4}[nrt]|\\{1,4}u0020|%20|%09|%0[AaDd]|\+){1,8}`;
/** A token that continues on the next line. A word there without a digit is no part of it. */
const CONTINUED = String.raw`(?:(?:\r?\n|(?:\\{1,4}r)?\\{1,4}n)[ \t]{0,20}(?=[\w.~+/=-]*\d)[\w.~+/=-]{8,})*`;

/** A word of a sentence, in lower case: a server may be called "bearer", and tokens have other characters or are longer. */
const WORD = String.raw`[a-z]{1,19}[.!?]?(?![\w.~+/=-])`;

/** Secrets recognised by the text around them. */
const SURROUNDED: readonly string[] = [
  // A private key, to its end or that of the text.
  "-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:[^-]|-(?!----END))*(?:-----END [A-Z0-9 ]{0,40}-----)?",
  String.raw`${START}(?:[Bb]earer|BEARER|[Bb]asic|BASIC|DPoP)(?! ${WORD})${GAP}[\w.~+/=-]{8,}${CONTINUED}`,
  String.raw`${START}(?:[Tt]oken|[Aa]piKey|ApiKey)\s+(?=[\w.~+/=-]*\d)[\w.~+/=-]{16,}`,
  // The credentials of an address; with a user alone where that is long.
  String.raw`(?<=:\/\/)[^\s/@:"'<>]*:[^\s/@"'<>]+(?=@)`,
  String.raw`(?<=:\/\/)[^\s/@:"'<>]{16,}(?=@)`,
  String.raw`(?<=hooks\.slack\.com\/(?:services|workflows|triggers)\/)[\w/-]{8,}`,
  String.raw`(?<=discord(?:app)?\.com\/api\/webhooks\/)[\w/-]{8,}`,
  String.raw`(?<=webhook\.office\.com\/)[\w/@-]{8,}`,
  String.raw`(?<=api\.telegram\.org\/bot)[\w:-]{8,}`,
  String.raw`(?<=(?:AccountKey|SharedAccessKey|SharedAccessSignature|AccessKey|Password|Pwd)=)[^\s;"'&]{6,}`,
  String.raw`(?<=[?&](?:sig|signature|X-Amz-Signature|X-Amz-Security-Token|X-Goog-Signature)=)[^\s&"'#]{6,}`,
];

const FORMATS = new RegExp([`${START}(?:${TOKENS.join("|")})${CONTINUED}`, ...SURROUNDED].join("|"), "g");

/** A reference to a variable and nothing else, as a hint about a config has it. */
const VARIABLE = String.raw`\$\{(?:env:)?[A-Za-z_]\w{0,100}\}(?:["'\s\\,;]|$)`;

/** The scheme and the credentials of a header that authorizes, short ones too, and the cookies of one, to the end of its line. */
const HEADERS = new RegExp(
  [
    String.raw`(?<=\b(?:proxy-)?authorization\\{0,4}["']?\s{0,4}[:=]\s{0,4}\\{0,4}["']?(?:bearer|basic|digest|token|apikey|dpop|negotiate)${GAP})(?!${VARIABLE})[^\s"'\\,;]+`,
    String.raw`(?<=\b(?:set-)?cookie2?\\{0,4}["']?\s{0,4}[:=]\s{0,4}\\{0,4}["']?)[\w!#$%&'*+.^|~-]+=[^\r\n"\\]*`,
  ].join("|"),
  "gi",
);

/**
 * A name with a value, in code, JSON, JSON in JSON, headers, command lines and query strings; not the name of a server in the
 * sentences of the gateway, `server "token": …`. `redactNamed` checks the name.
 */
const NAMED =
  /(?<![\w.-]|\bserver ")((?:--?)?[A-Za-z][\w.-]{1,60})(\\*["']?(?:\s{0,4}[=:]\s{0,4}|(?<=--[\w.-]{2,60})\s+)\\*)("(?:[^"\\\n]|\\(?!"))*|'[^'\n]*|[^\s"'&?,;{}[\]()<>\\]+)/g;

/** The text with each secret of a known format replaced by `mark`. */
export function redactFormats(text: string, mark: string): string {
  if (text.length < MIN_FORMAT_LENGTH) return text;
  const formats = text.replace(FORMATS, mark);
  return MAY_BE_HEADER.test(formats) ? formats.replace(HEADERS, mark) : formats;
}

/** The text with each value replaced by `mark` that is secret by the name before it. */
export function redactNamed(
  text: string,
  mark: string,
  isSecret: (name: string, value: string, quoted: boolean) => boolean,
): string {
  if (!/[=:]|--/.test(text)) return text;
  return text.replace(NAMED, (found, name: string, between: string, given: string, at: number) => {
    const quote = /^["']/.exec(given)?.[0] ?? "";
    const value = given.slice(quote.length);
    // In a query the value is no word of a sentence.
    const isWhole = quote !== "" || (between === "=" && /[?&;]/.test(text[at - 1] ?? ""));
    return isSecret(name, value, isWhole) ? `${name}${between}${quote}${mark}` : found;
  });
}

const MAY_BE_HEADER = /authorization|cookie/i;

/** The length (characters) of the shortest format. */
const MIN_FORMAT_LENGTH = 8;
