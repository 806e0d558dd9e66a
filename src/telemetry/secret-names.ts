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
