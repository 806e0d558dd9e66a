/**
 * Ajv is the oracle: both must agree on schemas that both support. On `unevaluated` keywords Ajv differs from the
 * official suite; those have tests of their own.
 */
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { describe, expect, test } from "vitest";
import { compile } from "../../../../src/features/schema-checks/json-schema/compile.js";
import fc from "../../../support/fast-check.js";

const ajv = new Ajv2020({
  strict: false,
  validateSchema: false,
  logger: false,
  inlineRefs: false,
  // Else every object has a member `__proto__`.
  ownProperties: true,
});
addFormats.default(ajv);

type Schema = Record<string, unknown> | boolean;

const small = fc.integer({ min: 0, max: 4 });
const key = fc.constantFrom("a", "b", "ab", "c");
const text = fc.constantFrom("", "a", "b", "ab", "aab", "é", "😀", "a😀");
/** As they come over the wire: Ajv asks objects for their constructor. */
const parsed = (it: unknown): unknown => JSON.parse(JSON.stringify(it));
const value = fc
  .letrec((tie) => ({
    any: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      fc.constantFrom<unknown>(null, true, false, 0, 1, 2, 3, 1.5, -1),
      text,
      fc.array(tie("any"), { maxLength: 4 }),
      fc.dictionary(key, tie("any"), { maxKeys: 4 }),
    ),
  }))
  .any.map(parsed);

const conditional = (yes?: Schema, no?: Schema): object =>
  Object.fromEntries([["then", yes] as const, ["else", no] as const].filter(([, it]) => it !== undefined));

const schema: fc.Arbitrary<Schema> = fc.letrec<{ any: Schema; part: Record<string, unknown> }>((tie) => {
  const of = tie("any");
  const list = fc.array(of, { minLength: 1, maxLength: 3 });
  const named = fc.dictionary(fc.constantFrom("a", "b", "ab", "c"), of, { maxKeys: 3 });
  const type = fc.constantFrom("string", "number", "integer", "boolean", "null", "object", "array");
  const one = <T>(keyword: string, given: fc.Arbitrary<T>) => given.map((it) => ({ [keyword]: it }));
  return {
    any: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      { weight: 1, arbitrary: fc.boolean() },
      { weight: 9, arbitrary: tie("part") },
    ),
    part: fc
      .array(
        fc.oneof(
          one("type", fc.oneof(type, fc.uniqueArray(type, { minLength: 1, maxLength: 3 }))),
          one(
            "enum",
            fc.uniqueArray(value, { minLength: 1, maxLength: 3, selector: (it) => JSON.stringify(it) }),
          ),
          one("const", value),
          one("minimum", small),
          one("maximum", small),
          one("exclusiveMinimum", small),
          one("exclusiveMaximum", small),
          one("multipleOf", fc.constantFrom(1, 2, 0.5)),
          one("minLength", small),
          one("maxLength", small),
          one("pattern", fc.constantFrom("^a", "b$", "^a+$", ".", "^$")),
          one("minItems", small),
          one("maxItems", small),
          one("uniqueItems", fc.boolean()),
          one("items", of),
          one("prefixItems", list),
          one("contains", of),
          fc.record({ contains: of, minContains: small, maxContains: small }),
          one("minProperties", small),
          one("maxProperties", small),
          one("required", fc.uniqueArray(key, { maxLength: 2 })),
          one("properties", named),
          one("patternProperties", fc.dictionary(fc.constantFrom("^a", "b$"), of, { maxKeys: 2 })),
          one("additionalProperties", of),
          one("propertyNames", of),
          one("dependentRequired", fc.dictionary(key, fc.uniqueArray(key, { maxLength: 2 }), { maxKeys: 2 })),
          one("dependentSchemas", named),
          one("allOf", list),
          one("anyOf", list),
          one("oneOf", list),
          one("not", of),
          fc
            .tuple(of, fc.option(of, { nil: undefined }), fc.option(of, { nil: undefined }))
            .map(([asks, ...ways]) => ({ if: asks, ...conditional(...ways) })),
          one("$ref", fc.constantFrom("#/$defs/a", "#/$defs/b")),
        ),
        { maxLength: 4 },
      )
      .map((parts) => Object.assign({}, ...parts) as Record<string, unknown>),
  };
}).any;

/** References lead only to what leads nowhere else, so that nothing goes round in circles. */
const whole = fc.record({
  root: schema,
  a: value,
  b: fc.constantFrom<Schema>({ type: "string" }, { minItems: 1 }, true),
});

const areValid = async (given: unknown, values: readonly unknown[]): Promise<readonly boolean[]> => {
  const compiled = await compile(given);
  return values.map((it) => {
    const { outcome } = compiled.validate(it);
    if (outcome === "undecided") throw new Error("every schema of this test is supported");
    return outcome === "valid";
  });
};

/** Code that Ajv 8.20 generates for several keywords about the same members may throw; such cases are skipped. */
function byAjv(validate: (it: unknown) => unknown, it: unknown): boolean {
  try {
    return validate(it) === true;
  } catch (error) {
    if (!(error instanceof TypeError || error instanceof ReferenceError)) throw error;
    return fc.pre(false) as never;
  }
}

test("agrees with Ajv on generated schemas and values", async () => {
  await fc.assert(
    fc.asyncProperty(
      whole,
      fc.array(value, { minLength: 5, maxLength: 8 }),
      async ({ root, a, b }, values) => {
        // Ajv 8.20 is wrong about `contains` beside other array keywords.
        const keywords = JSON.stringify(root);
        const others = ['"prefixItems"', '"items"'];
        fc.pre(!(keywords.includes('"contains"') && others.some((it) => keywords.includes(it))));
        const given = typeof root === "boolean" ? root : { ...root, $defs: { a: { const: a }, b } };
        const validate = ajv.compile(given);
        expect(await areValid(given, values)).toEqual(values.map((it) => byAjv(validate, it)));
        if (typeof given === "object") ajv.removeSchema(given);
      },
    ),
    { numRuns: Number(process.env.CARDEA_RUNS ?? 1_000) },
  );
});

describe("formats", () => {
  const TEXTS = [
    ..."2024-02-29 2023-02-29 2024-13-01 2024-1-01 2024-12-31T23:59:60Z 2024-12-31T23:58:60Z 2024-01-01T00:00:00Z".split(
      " ",
    ),
    ..."2024-01-01T00:00:00+02:30 2024-01-01T24:00:00Z 2024-01-01t00:00:00.123z 2024-01-01T00:00:00 23:59:60Z 12:00:00-08:00".split(
      " ",
    ),
    ..."00:29:60+00:30 12:00 a@b.c a@b a.b@c.de .a@b.c a@-b.c a@b..c @b.c a@b.c@d.e x.example -x.example x.example. localhost".split(
      " ",
    ),
    ..."127.0.0.1 256.0.0.1 1.2.3 01.2.3.4 ::1 fe80::1 ::ffff:1.2.3.4 1::2::3 fe80::1%eth0 http://x.example/a?b#c mailto:a@b.c".split(
      " ",
    ),
    ..."/a/b //x a:b http://x/<b> /a~1b/~0 /a~2 a/b 123e4567-e89b-12d3-a456-426614174000 123e4567e89b12d3a456426614174000 {x}".split(
      " ",
    ),
    "",
    "a b",
    "ünïcode.example",
    `${"a".repeat(64)}.example`,
  ];
  const FORMATS = [
    "date-time",
    "date",
    "time",
    "email",
    "ipv4",
    "ipv6",
    "uri",
    "uuid",
    "json-pointer",
  ] as const;
  /** Where Ajv is wrong, or stricter. */
  const KNOWN: Readonly<Record<string, readonly string[]>> = {
    email: ["a@b"],
    uuid: [],
    uri: [],
  };

  test.each(FORMATS)("%s", async (format) => {
    const validate = ajv.compile({ format });
    const ours = await areValid({ format }, TEXTS);
    const differing = TEXTS.filter((it, i) => ours[i] !== validate(it));
    expect(differing).toEqual(KNOWN[format] ?? []);
  });
});
