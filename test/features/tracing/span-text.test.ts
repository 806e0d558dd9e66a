/** The text of a span is what the packages of OpenTelemetry would have written of it. */
import { createRequire } from "node:module";
import type { HrTime, SpanContext } from "@opentelemetry/api";
import { emptyResource } from "@opentelemetry/resources";
import type { ReadableSpan } from "@opentelemetry/sdk-trace-base";
import { expect, test } from "vitest";
import type { NamedSpan } from "../../../src/core/trace-context.js";
import {
  type Attributes,
  KIND,
  pairsText,
  type SpanFacts,
  spanKindText,
} from "../../../src/features/tracing/span.js";
import { SpanBatch } from "../../../src/features/tracing/span-batch.js";
import fc from "../../support/fast-check.js";

const exporter = createRequire(import.meta.url).resolve("@opentelemetry/exporter-trace-otlp-http");
const { JsonTraceSerializer } = createRequire(exporter)("@opentelemetry/otlp-transformer") as {
  readonly JsonTraceSerializer: { serializeRequest(spans: readonly ReadableSpan[]): Uint8Array };
};

const hrTime = (ms: number): HrTime => {
  const micros = Math.round(ms * 1000);
  return [Math.floor(micros / 1e6), (micros % 1e6) * 1000];
};

function contextOf({ traceId, spanId, isSampled, tracestate }: NamedSpan, isRemote: boolean): SpanContext {
  const state = {
    set: () => state,
    unset: () => state,
    get: () => undefined,
    serialize: () => tracestate ?? "",
  };
  const traceFlags = isSampled ? 1 : 0;
  return { traceId, spanId, isRemote, traceFlags, ...(tracestate !== undefined && { traceState: state }) };
}

interface Described extends Omit<SpanFacts, "common" | "attributes"> {
  readonly name: string;
  readonly kind: (typeof KIND)[keyof typeof KIND];
  readonly common: Attributes;
  readonly attributes?: Attributes | undefined;
}

/** The span as the packages read one. */
function readable(facts: Described): ReadableSpan {
  const {
    name,
    kind,
    span,
    parent,
    common,
    isParentRemote,
    startedAt,
    duration,
    attributes,
    links = [],
    failure,
  } = facts;
  return {
    name,
    kind: kind - 1,
    spanContext: () => contextOf(span, false),
    ...(parent !== undefined && { parentSpanContext: contextOf(parent, isParentRemote) }),
    startTime: hrTime(startedAt),
    endTime: hrTime(startedAt + duration),
    status:
      failure === undefined
        ? { code: 0 }
        : { code: 2, ...(failure.message !== undefined && { message: failure.message }) },
    attributes: { ...common, ...attributes } as ReadableSpan["attributes"],
    links: links.map((link) => ({ context: contextOf(link, true) })),
    events: [],
    duration: hrTime(duration),
    ended: true,
    resource: emptyResource(),
    instrumentationScope: { name: "cardea" },
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

const hex = (digits: number) =>
  fc.string({ unit: fc.constantFrom(..."0123456789abcdef"), minLength: digits, maxLength: digits });
const named = (isSampled: fc.Arbitrary<boolean>) =>
  fc.record({
    traceId: hex(32),
    spanId: hex(16),
    isSampled,
    tracestate: fc.option(fc.constantFrom("a=1", 'b="\\', "c=\u007f"), { nil: undefined, freq: 2 }),
  });
const text = fc.oneof(
  fc.string({ unit: "binary", maxLength: 20 }),
  fc.constantFrom("tools/call", 'a "b" \\', "\u2028\u0000"),
);
const attributesOf = (prefix: string): fc.Arbitrary<Attributes> =>
  fc.dictionary(
    text.map((name) => `${prefix}${name}`),
    fc.oneof(
      text,
      fc.integer(),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.array(text, { maxLength: 3 }),
    ),
    { maxKeys: 5 },
  );
const facts: fc.Arbitrary<Described> = fc
  .record({
    name: text,
    kind: fc.constantFrom(...Object.values(KIND)),
    span: named(fc.constant(true)),
    parent: fc.option(named(fc.boolean()), { nil: undefined }),
    startedAt: fc.oneof(
      fc.double({ min: 1.7e12, max: 1.9e12, noNaN: true }),
      fc.double({ min: 1, max: 4e12, noNaN: true }),
    ),
    duration: fc.double({ min: 0, max: 1e7, noNaN: true }),
    common: attributesOf("a"),
    attributes: fc.option(attributesOf("b"), { nil: undefined }),
    links: fc.option(fc.array(named(fc.boolean()), { minLength: 1, maxLength: 2 }), { nil: undefined }),
    failure: fc.option(fc.record({ message: fc.option(text, { nil: undefined }) }), { nil: undefined }),
    isRemote: fc.boolean(),
  })
  // A root has no parent that could be remote.
  .map(({ isRemote, ...rest }) => ({ ...rest, isParentRemote: isRemote && rest.parent !== undefined }));

/** Without what has its default, which JSON of OTLP may leave out. */
function essence(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(essence);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).flatMap(([name, member]): [string, unknown][] => {
    const kept = essence(member);
    const isDefault = kept === 0 && name !== "intValue" && name !== "doubleValue";
    const isEmpty = typeof kept === "object" && Object.keys(kept ?? {}).length === 0 && name !== "values";
    return isDefault || isEmpty ? [] : [[name, kept]];
  });
  return Object.fromEntries(members);
}

/** As it is in the body of an export, behind another span. */
function written({ common, attributes = {}, ...span }: Described): unknown {
  const facts = {
    ...span,
    common: spanKindText(span.name, span.kind, common),
    attributes: pairsText(attributes),
  };
  const batch = new SpanBatch("[", "]");
  batch.add(facts);
  batch.add(facts);
  const [first, second] = JSON.parse(Buffer.from(batch.body).toString());
  expect(second).toEqual(first);
  return second;
}

test("whatever is in it", () => {
  fc.assert(
    fc.property(facts, (span) => {
      const whole = JSON.parse(
        Buffer.from(JsonTraceSerializer.serializeRequest([readable(span)])).toString(),
      );
      const [official] = whole.resourceSpans[0].scopeSpans[0].spans;
      expect(essence(written(span))).toEqual(essence(official));
    }),
  );
});

test("a span with nothing but ids, times and attributes", () => {
  const plain = facts.map((span) => ({
    ...span,
    span: { ...span.span, tracestate: undefined },
    links: undefined,
    failure: undefined,
  }));
  fc.assert(
    fc.property(plain, (span) => {
      const whole = JSON.parse(
        Buffer.from(JsonTraceSerializer.serializeRequest([readable(span)])).toString(),
      );
      expect(essence(written(span))).toEqual(essence(whole.resourceSpans[0].scopeSpans[0].spans[0]));
    }),
  );
});
