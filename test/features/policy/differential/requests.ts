/** Unusual requests: odd case, escapes, duplicate keys, similar names. */
import fc from "../../../support/fast-check.js";

/** Members in the order of the text; a key may stand twice. */
type Members = readonly (readonly [key: string, text: string])[];

export interface GeneratedRequest {
  readonly kind: "modern" | "legacy" | "batch";
  /** The messages without their ids; several in a batch. */
  readonly messages: readonly Members[];
  readonly headers: Readonly<Record<string, string>>;
}

export interface Known {
  /** Exposed names and own names of tools and prompts, and URIs. */
  readonly names: readonly string[];
  readonly uris: readonly string[];
}

const METHODS = [
  ...[
    "tools/call",
    "tools/call",
    "tools/call",
    "tools/call",
    "prompts/get",
    "prompts/get",
    "resources/read",
    "resources/read",
  ],
  ...[
    "completion/complete",
    "completion/complete",
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
  ],
  ...[
    "resources/subscribe",
    "resources/unsubscribe",
    "resources/directory/read",
    "skills/get",
    "skills/list",
  ],
  ...["tasks/get", "tasks/result", "tasks/cancel", "tasks/list", "ext/run", "ext/list", "other/run"],
  ...[
    "Tools/Call",
    "TOOLS/CALL",
    "tools/call ",
    "tools//call",
    "tools%2Fcall",
    "logging/setLevel",
    "ping",
    "server/discover",
  ],
];

const VALUES = [
  "prod",
  "PROD",
  "Prod",
  "prod ",
  "pr\u043ed",
  "ｐｒｏｄ",
  "pro\u200dd",
  "test",
  "",
  "__proto__",
];
const KEYS = ["env", "Env", "ENV", "env ", "ｅnv", "__proto__", "constructor", "n", "arguments", "name"];

/** Every character as an escape, which means the same. */
const escaped = (text: string): string =>
  `"${[...text]
    .flatMap((it) => it.split(""))
    .map((it) => `\\u${it.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("")}"`;

const literal = (text: string) => fc.boolean().map((plain) => (plain ? JSON.stringify(text) : escaped(text)));

const oddCase = (key: string): string =>
  key === key.toUpperCase() ? key.toLowerCase() : key[0]?.toUpperCase() + key.slice(1);

const written = (members: Members): string =>
  `{${members.map(([key, value]) => `${key}:${value}`).join(",")}}`;

/** The member, and perhaps another of the same name or nearly so, before it or after it. */
function member(
  key: string,
  value: fc.Arbitrary<string>,
  decoy: fc.Arbitrary<string>,
): fc.Arbitrary<Members> {
  const one = fc.tuple(literal(key), value);
  const other = fc.tuple(fc.constantFrom(key, key, oddCase(key)).chain(literal), decoy);
  return fc.oneof(
    { weight: 6, arbitrary: one.map((it) => [it]) },
    { weight: 1, arbitrary: fc.tuple(other, one) },
    { weight: 1, arbitrary: fc.tuple(one, other) },
    { weight: 1, arbitrary: fc.tuple(fc.tuple(fc.constant(JSON.stringify(oddCase(key))), decoy)) },
  );
}

const joined = (...parts: readonly fc.Arbitrary<Members>[]): fc.Arbitrary<Members> =>
  fc.tuple(...parts).map((lists) => lists.flat());

/** A name that is known, or one that could be taken for it. */
function nameNear(names: readonly string[]): fc.Arbitrary<string> {
  const known = fc.constantFrom(...names);
  const mangled = fc.tuple(known, fc.nat(9)).map(([name, how]) => {
    const ways = [
      name.toUpperCase(),
      `${name} `,
      name.normalize("NFKC"),
      name.normalize("NFD"),
      encodeURIComponent(name),
      name.replaceAll("_", "%5F"),
      name.replaceAll("__", "/"),
      name.replaceAll("__", "_"),
      `${name}\u200b`,
      `a__${name}`,
    ];
    return ways[how] ?? name;
  });
  return fc.oneof({ weight: 5, arbitrary: known }, { weight: 2, arbitrary: mangled });
}

function uriNear(uris: readonly string[]): fc.Arbitrary<string> {
  const known = fc.constantFrom(...uris);
  const mangled = fc.tuple(known, fc.nat(8)).map(([uri, how]) => {
    const ways = [
      uri.replace("/srv/data/", "/srv/data/../../etc/"),
      uri.replace("/srv/data/", "/srv/data/%2e%2e/%2e%2e/etc/"),
      uri.replace("/etc/", "/%65tc/"),
      uri.replace("/etc/", "/ETC/"),
      uri.replace("file:", "FILE:"),
      uri.replace("/etc/", "%2Fetc%2F"),
      uri.replace("/etc/", "//etc//"),
      `${uri}?x=1#y`,
      uri.replaceAll("/", "%2F"),
    ];
    return ways[how] ?? uri;
  });
  return fc.oneof({ weight: 3, arbitrary: known }, { weight: 3, arbitrary: mangled });
}

const argumentText: fc.Arbitrary<string> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .array(
        fc.tuple(
          fc.constantFrom(...KEYS).chain(literal),
          fc.oneof(fc.constantFrom(...VALUES).chain(literal), fc.json({ maxDepth: 2 })),
        ),
        {
          maxLength: 4,
        },
      )
      .map(written),
  },
  { weight: 1, arbitrary: fc.constantFrom("null", '"prod"', "[]", '[{"env":"prod"}]', "{}") },
);

function paramsOf(method: string, { names, uris }: Known): fc.Arbitrary<Members> {
  const name = nameNear(names).chain(literal);
  const uri = uriNear(uris).chain(literal);
  if (method.startsWith("completion")) {
    const ref = fc.oneof(
      joined(fc.constant([['"type"', '"ref/prompt"']] as Members), member("name", name, name)),
      joined(fc.constant([['"type"', '"ref/resource"']] as Members), member("uri", uri, uri)),
    );
    return joined(
      member("ref", ref.map(written), ref.map(written)),
      fc.constant([['"argument"', '{"name":"a","value":"b"}']] as Members),
    );
  }
  if (method.startsWith("resources/") || method === "skills/get") return member("uri", uri, uri);
  if (method.startsWith("tasks/")) return member("taskId", name, name);
  if (method.startsWith("ext/"))
    return joined(fc.oneof(member("name", name, name), member("uri", uri, uri), fc.constant([])));
  return joined(member("name", name, name), member("arguments", argumentText, argumentText));
}

const META = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`;

const base64 = (text: string): string => `=?base64?${Buffer.from(text, "utf8").toString("base64")}?=`;

/** What a parser that lets the last of two keys win makes of the text at `key`. */
function lastOf(text: string, key: string): unknown {
  const value: unknown = JSON.parse(text);
  return typeof value === "object" && value !== null && Object.hasOwn(value, key)
    ? (value as Record<string, unknown>)[key]
    : undefined;
}

function message(known: Known, modern: boolean): fc.Arbitrary<Members> {
  return fc.constantFrom(...METHODS).chain((method) => {
    const params = fc.tuple(paramsOf(method, known), paramsOf("tools/call", known)).chain(([own, other]) => {
      const withMeta = (members: Members): string =>
        modern
          ? `{${[...members.map(([key, value]) => `${key}:${value}`), META].join(",")}}`
          : written(members);
      return member("params", fc.constant(withMeta(own)), fc.constant(withMeta(other)));
    });
    const decoy = fc.constantFrom("tools/call", "tools/list", "ping").chain(literal);
    return joined(member("method", literal(method), decoy), params);
  });
}

/** Headers that agree with the body, or do not. */
function headersOf(members: Members): fc.Arbitrary<Readonly<Record<string, string>>> {
  const text = written(members);
  const method = lastOf(text, "method");
  const params = JSON.stringify(lastOf(text, "params") ?? {});
  const target = lastOf(params, "name") ?? lastOf(params, "uri") ?? lastOf(params, "taskId");
  const name = typeof target === "string" ? target : "";
  const plain = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(name) ? name : base64(name);
  const env = lastOf(JSON.stringify(lastOf(params, "arguments") ?? {}), "env");
  return fc
    .record({
      method: fc.oneof(
        { weight: 9, arbitrary: fc.constant(String(method)) },
        fc.constant(String(method).toUpperCase()),
      ),
      name: fc.oneof(
        { weight: 6, arbitrary: fc.constant(plain) },
        fc.constant(base64(name)),
        fc.constant(base64("x__ok")),
        fc.constant("x__ok"),
      ),
      env: fc.oneof(
        {
          weight: 3,
          arbitrary: fc.constant(typeof env === "string" && /^[\x21-\x7e]+$/.test(env) ? env : undefined),
        },
        fc.constantFrom("prod", base64("prod"), "test"),
      ),
      odd: fc.constantFrom("Mcp-Name", "mcp-name", "MCP-NAME"),
    })
    .map(({ method: said, name: of, env: param, odd }) => ({
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": said.replace(/[^\x21-\x7e]/g, ""),
      [odd]: of,
      ...(param !== undefined && { "Mcp-Param-Env": param }),
    }));
}

/** One request of a host, or a batch of them. */
export function requests(known: Known): fc.Arbitrary<GeneratedRequest> {
  return fc.oneof(
    {
      weight: 5,
      arbitrary: message(known, true).chain((members) =>
        headersOf(members).map((headers) => ({ kind: "modern" as const, messages: [members], headers })),
      ),
    },
    {
      weight: 3,
      arbitrary: message(known, false).map((members) => ({
        kind: "legacy" as const,
        messages: [members],
        headers: {},
      })),
    },
    {
      weight: 2,
      arbitrary: fc
        .array(message(known, false), { minLength: 1, maxLength: 4 })
        .map((messages) => ({ kind: "batch" as const, messages, headers: {} })),
    },
  );
}

/** The text of a request; its messages are numbered from `id` on. */
export function textOf({ kind, messages }: GeneratedRequest, id: number): string {
  const texts = messages.map((members, at) =>
    written([['"jsonrpc"', '"2.0"'], ['"id"', String(id + at)], ...members]),
  );
  return kind === "batch" ? `[${texts.join(",")}]` : (texts[0] ?? "{}");
}
