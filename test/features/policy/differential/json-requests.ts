/** Requests that readers of JSON may take for different ones: members in odd letters, twice, or of another type. */
import fc from "../../../support/fast-check.js";

export interface JsonRequest {
  readonly kind: "modern" | "legacy";
  /** Without the id, which is the first member. */
  readonly rest: string;
}

type Member = readonly [key: string, value: string];

/** The letter as other readers may take it for the same. */
function letters(letter: string): readonly string[] {
  if (!/[a-z]/i.test(letter)) return [letter];
  const lower = letter.toLowerCase();
  const at = lower.charCodeAt(0) - 97;
  const special: Readonly<Record<string, readonly string[]>> = {
    s: ["ſ"],
    k: ["\u212a"],
    i: ["ı", "İ", "I\u0307"],
  };
  return [
    letter.toUpperCase(),
    lower,
    String.fromCodePoint(0xff41 + at),
    String.fromCodePoint(0xff21 + at),
    String.fromCodePoint(0x1d41a + at),
    String.fromCodePoint(0x24d0 + at),
    ...(special[lower] ?? []),
  ];
}

/** The name with one letter, some or all of them written otherwise. */
const twisted = (name: string): fc.Arbitrary<string> =>
  fc.oneof(
    fc.constant(name.toUpperCase()),
    fc.constant(name.charAt(0).toUpperCase() + name.slice(1)),
    fc
      .nat(name.length - 1)
      .chain((at) =>
        fc
          .constantFrom(...letters(name.charAt(at)))
          .map((letter) => name.slice(0, at) + letter + name.slice(at + 1)),
      ),
    fc
      .tuple(...[...name].map((letter) => fc.constantFrom(letter, letter, ...letters(letter))))
      .map((all) => all.join("")),
  );

const escaped = (text: string): string =>
  `"${text
    .split("")
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("")}"`;
const literal = (text: string): fc.Arbitrary<string> =>
  fc.nat(4).map((how) => (how === 0 ? escaped(text) : JSON.stringify(text)));

const written = (members: readonly Member[]): string =>
  `{${members.map(([key, value]) => `${key}:${value}`).join(",")}}`;

const member = (key: string, value: fc.Arbitrary<string>): fc.Arbitrary<Member> =>
  fc.tuple(literal(key), value);

/** `members` with up to two more among them that may be taken for some of them. */
function withTwins(
  members: readonly fc.Arbitrary<Member>[],
  twins: readonly (readonly [key: string, value: fc.Arbitrary<string>])[],
): fc.Arbitrary<string> {
  const twin = fc
    .constantFrom(...twins)
    .chain(([key, value]) =>
      fc.tuple(fc.oneof({ weight: 4, arbitrary: twisted(key) }, fc.constant(key)).chain(literal), value),
    );
  return fc
    .tuple(fc.tuple(...members), fc.oneof(fc.constant([]), fc.array(twin, { minLength: 1, maxLength: 2 })))
    .chain(([own, more]) => fc.shuffledSubarray([...own, ...more], { minLength: own.length + more.length }))
    .map(written);
}

const META =
  '{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}';

const env = fc.constantFrom("test", "test", "prod").chain(literal);
const harmless = fc.constantFrom('{"env":"test"}', "{}", '{"n":1,"m":[true]}');
const hostile = fc.oneof(
  fc.constant('{"env":"prod"}'),
  env.map((value) => `{"env":"test","env":${value}}`),
  env.map((value) => `{"Env":${value},"__proto__":{"env":"prod"}}`),
);
const odd = fc.constantFrom("null", "[]", '"prod"', "7", '[{"env":"prod"}]', "true");
const args = fc.oneof({ weight: 6, arbitrary: harmless }, { weight: 2, arbitrary: hostile }, odd);
const oneOf = (...texts: readonly string[]) => fc.constantFrom(...texts).chain(literal);

const tool = oneOf("x__ok", "a__ok", "x__ok", "a__ok", "x__drop", "a__drop");
const badTool = oneOf("x__drop", "drop", "a__drop");
const prompt = oneOf("x__hello", "a__hello", "a__secret");
const badPrompt = oneOf("secret", "x__secret");
const uri = oneOf("x+file:///srv/x", "a+file:///srv/x", "x+file:///etc/x");
const badUri = oneOf("file:///etc/passwd", "x+file:///etc/x");
const ref = (key: string, good: fc.Arbitrary<string>, bad: fc.Arbitrary<string>, type: string) =>
  withTwins([fc.constant(['"type"', type] as const), member(key, good)], [[key, bad]]);

interface Method {
  readonly members: readonly fc.Arbitrary<Member>[];
  readonly twins: readonly (readonly [key: string, value: fc.Arbitrary<string>])[];
}

const refs = (isBad: boolean) =>
  fc.oneof(
    ref("name", isBad ? badPrompt : prompt, badPrompt, '"ref/prompt"'),
    ref("uri", isBad ? badUri : uri, badUri, '"ref/resource"'),
  );
const METHODS: Readonly<Record<string, Method>> = {
  "tools/call": {
    members: [member("name", tool), member("arguments", args)],
    twins: [
      ["name", badTool],
      ["arguments", hostile],
      ["arguments", odd],
      ["task", fc.constant("{}")],
      ["requestState", fc.constant('"x"')],
      ["inputResponses", fc.constant("{}")],
    ],
  },
  "prompts/get": {
    members: [member("name", prompt), member("arguments", args)],
    twins: [
      ["name", badPrompt],
      ["arguments", hostile],
    ],
  },
  "resources/read": {
    members: [member("uri", uri)],
    twins: [
      ["uri", badUri],
      ["arguments", hostile],
    ],
  },
  "completion/complete": {
    members: [
      member("ref", refs(false)),
      member("argument", fc.constantFrom('{"name":"a","value":"b"}', '"a"', "[]")),
    ],
    twins: [
      ["ref", refs(true)],
      ["argument", fc.constant("{}")],
    ],
  },
};

const methods = [
  "tools/call",
  "tools/call",
  "tools/call",
  "prompts/get",
  "resources/read",
  "completion/complete",
];

function request(kind: JsonRequest["kind"]): fc.Arbitrary<JsonRequest> {
  return fc.constantFrom(...methods).chain((method) => {
    const { members, twins } = METHODS[method] as Method;
    const meta: Method["twins"] = kind === "modern" ? [["_meta", fc.constant(META)]] : [];
    const params = withTwins(
      [...members, ...meta.map(([key, value]) => member(key, value))],
      [...twins, ...meta],
    );
    const bad = fc.constantFrom('{"name":"drop"}', '{"uri":"file:///etc/x"}', '{"arguments":{"env":"prod"}}');
    return fc
      .oneof(
        {
          weight: 12,
          arbitrary: params.map((text) => `"method":${JSON.stringify(method)},"params":${text}}`),
        },
        withTwins(
          [member("method", fc.constant(JSON.stringify(method))), member("params", params)],
          [
            ["params", bad],
            ["method", fc.constant('"tools/call"')],
          ],
        ).map((text) => text.slice(1)),
      )
      .map((rest) => ({ kind, rest }));
  });
}

export const jsonRequests: fc.Arbitrary<JsonRequest> = fc.oneof(request("modern"), request("legacy"));
