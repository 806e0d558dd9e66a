/** What words mean to the rules: each has the classes of which it is. */

const CLASS_NAMES = [
  ...["not", "tell", "user", "covert", "ignore", "prior", "instruction", "safety", "model", "must"],
  ...["read", "send", "embed", "secret", "path", "talk", "outside", "confess", "tool", "called", "when"],
  ...["change", "mention", "obey", "also", "every", "first", "work", "leak", "know", "within", "prefer"],
] as const;
/** A class of words. */
export type WordClass = (typeof CLASS_NAMES)[number];

/** The bit of each class. */
const BITS = Object.fromEntries(CLASS_NAMES.map((name, at) => [name, 1 << at])) as Readonly<
  Record<WordClass, number>
>;

/** The bits of these classes. */
export const bitsOf = (classes: readonly WordClass[]): number =>
  classes.reduce((bits, name) => bits | BITS[name], 0);

const WORDS: Readonly<Record<Exclude<WordClass, "path" | "mention">, string>> = {
  not: "not dont never cannot cant without avoid wont shouldnt mustnt neither nor no refrain",
  tell: "tell telling mention mentioning inform informing notify notifying disclose disclosing reveal revealing show showing alert alerting say saying acknowledge acknowledging expose warn display announce indicate ask asking prompt",
  user: "user users human humans customer customers person people anyone anybody them him her owner owners client reader",
  covert:
    "silently secretly covertly quietly invisibly discreetly stealthily surreptitiously unnoticed imperceptibly undetected unobtrusively",
  ignore:
    "ignore ignores ignoring disregard disregards disregarding forget override overriding overrides bypass bypasses bypassing discard circumvent neglect abandon nullify suspend",
  prior: "previous previously prior above earlier preceding existing all any former foregoing everything",
  instruction:
    "instruction instructions directive directives prompt prompts rule rules guideline guidelines direction directions constraint constraints policy policies safeguard safeguards restriction restrictions guardrail guardrails command commands order orders programming request",
  safety:
    "safety security ethical moderation guardrails guardrail safeguards consent confirmation confirmations restrictions",
  model:
    "system assistant developer model ai llm agent claude gpt chatgpt copilot gemini cursor jailbreak root admin",
  must: "always must mandatory required requires require shall need needs should important critical essential necessary obligatory",
  read: "read reads reading open opens access accesses accessing retrieve retrieves load loads fetch fetches cat collect collects collecting gather gathers obtain obtains extract extracts harvest harvests grab grabs get gets dump dumps scrape steal steals capture captures query list enumerate look",
  send: "send sends sending forward forwards forwarding upload uploads uploading post posts posting transmit transmits transmitting cc bcc bccd submit submits relay relays deliver email emails mail mails copy copies share shares report push pushes sync beacon ping log logs",
  embed:
    "append appends embed embeds embedding include includes including pass passes passing attach attaches insert inserts put paste provide supply add adds prepend inject inline place write return returns output outputs print store encode placed answer respond reply hand",
  secret:
    "credential credentials password passwords passwd passphrase apikey apikeys api_key api_keys secret secrets token tokens id_rsa id_ed25519 keychain keystore mnemonic cookies clipboard keystrokes",
  talk: "chain-of-thought",
  outside:
    "external externally third-party thirdparty attacker proxy attackers attacker-controlled adversary offsite webhook collector exfil evil attackers telemetry",
  confess:
    "mention mentioning disclose disclosing reveal revealing acknowledge acknowledging admit confess divulge",
  prefer:
    "prefer prefers preferred preferable prioritize prioritise prioritized favor favour superior choose select best",
  tool: "tool tools function functions plugin plugins",
  called:
    "call calls called calling invoke invokes invoked invoking use uses used using run runs running execute executes executed executing trigger triggered triggers",
  when: "when whenever before after every each once if any prior",
  change:
    "modify modifies alter alters change changes replace replaces reroute reroutes redirect redirects intercept intercepts supersede supersedes hijack hijacks override overrides substitute tamper rewrite route routes disable disables",
  obey: "obey follow comply execute treat act perform adopt",
  also: "also additionally simultaneously afterwards afterward moreover then copy copies",
  every: "every each any all regardless other others entire full complete whole everything",
  first: "first before beforehand prior initially immediately instead",
  work: "request requests query queries message messages question questions task tasks response responses operation operations interaction conversation conversations session answer answers call calls turn invocation prompt input",
  leak: "exfiltrate exfiltrates exfiltrating exfiltration data-exfiltration leak leaks leaking siphon siphons smuggle smuggles steal steals backdoor keylogger",
  know: "knowledge consent awareness noticing knowing realizing realising approval permission notification notice noticed telling informing notifying mentioning asking confirmation",
  within: "embedded inside found contained within contains containing hidden",
};

const CLASSES = new Map<string, number>();
for (const [name, words] of Object.entries(WORDS))
  for (const word of words.split(" ")) CLASSES.set(word, (CLASSES.get(word) ?? 0) | BITS[name as WordClass]);

/** Pairs of words that mean one thing; the second word gets the class. */
const PAIRS = new Map<string, { readonly after: readonly string[]; readonly of: WordClass }>(
  Object.entries({
    key: { after: ["api", "ssh", "private", "access", "encryption", "signing"], of: "secret" },
    keys: { after: ["api", "ssh", "private", "access", "encryption", "signing"], of: "secret" },
    variables: { after: ["environment", "env"], of: "secret" },
    vars: { after: ["environment", "env"], of: "secret" },
    phrase: { after: ["seed", "recovery"], of: "secret" },
    prompt: { after: ["system"], of: "talk" },
    instructions: { after: ["system"], of: "talk" },
    history: { after: ["conversation", "chat", "message", "dialog", "dialogue"], of: "talk" },
    messages: { after: ["previous", "prior", "system", "conversation", "user"], of: "talk" },
    log: { after: ["conversation", "chat"], of: "talk" },
    transcript: { after: ["conversation", "chat"], of: "talk" },
    context: { after: ["conversation", "chat"], of: "talk" },
    conversation: { after: ["entire", "full", "complete", "whole", "current", "users"], of: "talk" },
    chat: { after: ["entire", "full", "complete", "whole", "current"], of: "talk" },
    reasoning: { after: ["internal", "hidden"], of: "talk" },
    // Alone it is that of git and of files.
    ...Object.fromEntries(
      [
        "server",
        "servers",
        "host",
        "endpoint",
        "url",
        "address",
        "machine",
        "service",
        "site",
        "location",
      ].map((word) => [word, { after: ["remote"], of: "outside" }]),
    ),
  } as const satisfies Record<string, { readonly after: readonly string[]; readonly of: WordClass }>),
);

/** Leaks of these are faults of programs. */
const LEAKY: ReadonlySet<string> = new Set(
  "memory heap resource resources connection handle descriptor fd thread socket goroutine listener file".split(
    " ",
  ),
);

/** Files that hold secrets, as part of a path. */
const SECRET_FILES: readonly string[] = [
  ...[
    ".ssh",
    "id_rsa",
    "id_ed25519",
    "id_dsa",
    ".aws/",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    ".git-credentials",
  ],
  ...[
    "etc/passwd",
    "etc/shadow",
    "etc/sudoers",
    ".kube/config",
    ".docker/config",
    ".gnupg",
    "wallet.dat",
    ".config/gcloud",
  ],
  ...[
    ".cursor/mcp.json",
    "mcp.json",
    "claude_desktop_config",
    ".bash_history",
    ".zsh_history",
    "login.keychain",
  ],
  ...["proc/self/environ", "application_default_credentials", "authorized_keys", ".azure/", ".vault-token"],
];
const ENV_FILE = /(?:^|[/\\])\.env(?:\.(?:local|production|prod|development))?$/;

/** Whether a word is the path of a file that holds secrets. */
const isSecretFile = (word: string): boolean =>
  word.length > 4 && (ENV_FILE.test(word) || SECRET_FILES.some((file) => word.includes(file)));

/** The bits of the classes of a word, `before` being the word before it. */
export function classesOf(word: string, before: string): number {
  const isFault = LEAKY.has(before) && /^leak/.test(word);
  const known = isFault ? 0 : (CLASSES.get(word) ?? 0);
  const pair = PAIRS.get(word);
  const bits = pair?.after.includes(before) === true ? known | BITS[pair.of] : known;
  return COMPOUND.test(word) ? bits | ofCompound(word) : bits;
}

/** Only words with these characters have parts. */
const COMPOUND = /[./\\~@-]/;

const ofCompound = (word: string): number =>
  ofParts(word) | (word === ".env" || isSecretFile(word) ? BITS.path : 0);

function ofParts(word: string): number {
  if (/^\/\/\w|^\d{1,3}(?:\.\d{1,3}){3}$|@/.test(word)) return BITS.outside;
  if (word.length > 64) return 0;
  let bits = 0;
  for (const part of word.split(/[./\\~-]/)) bits |= CLASSES.get(part) ?? 0;
  return bits & ~BITS.outside;
}

const MENTIONS = new Set(
  (
    "detects detect detected detection detecting scans scanning flags flagged checks blocks prevents prevent " +
    "example examples sample samples illustrative explains explaining documentation documents describing mock fixtures expected " +
    "training redacts sanitizes removes masks protects guards guard reports analyzes analyses such eg ie like identifies " +
    "identify leaked refers finds vulnerabilities vulnerable deprecated readme shows"
  ).split(" "),
);

for (const word of MENTIONS) CLASSES.set(word, (CLASSES.get(word) ?? 0) | BITS.mention);

/** Whether the word announces that what follows is spoken of, not asked for: `detects`, `example`. */
export const isMention = (word: string): boolean => MENTIONS.has(word);
