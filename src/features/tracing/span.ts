/**
 * Writes a finished span as OTLP JSON, once, when it ends. The shared part is already text (`SpanKindText`). The
 * packages would create 40 objects per span, which wait for the export (decision 51).
 */
import type { NamedSpan } from "../../core/trace-context.js";
import { writeJson } from "../../wire/json-text.js";

/** Values of `SpanKind` in OTLP. */
export const KIND = { internal: 1, server: 2, client: 3 } as const;
const STATUS_ERROR = 2;
/** Bits of `flags` beyond those of W3C: whether it is known if the parent is remote, and that it is. */
const FLAGS = { sampled: 0x1, hasIsRemote: 0x100, isRemote: 0x200 } as const;

/** The value of an attribute. */
type AttributeValue = string | number | readonly string[];
/** Attributes by name. */
export type Attributes = Record<string, AttributeValue>;

/** The shared text of spans of the same operation and outcome. */
export interface SpanKindText {
  /** `"name":…,"kind":…`. */
  readonly head: string;
  /** The attributes, separated by commas. */
  readonly attributes: string;
}

/** Writes the shared text. */
export const spanKindText = (
  name: string,
  kind: (typeof KIND)[keyof typeof KIND],
  attributes: Attributes,
): SpanKindText => ({
  head: `"name":${quoted(name)},"kind":${kind}`,
  attributes: pairsText(attributes),
});

/** A span at its end. */
export interface SpanFacts {
  readonly common: SpanKindText;
  readonly span: NamedSpan;
  readonly parent: NamedSpan | undefined;
  /** Whether the parent is a span of another process. */
  readonly isParentRemote: boolean;
  /** In ms since 1970. */
  readonly startedAt: number;
  /** In ms. */
  readonly duration: number;
  /** In addition to those in `common`. */
  readonly attributes?: Attributes | undefined;
  readonly links?: readonly NamedSpan[] | undefined;
  /** The error message; undefined without an error. */
  readonly failure?: { readonly message: string | undefined } | undefined;
}

/** The span as JSON. */
export function spanText(facts: SpanFacts): string {
  const { common, span, parent, isParentRemote, startedAt, duration, attributes, links, failure } = facts;
  const flags = FLAGS.sampled | FLAGS.hasIsRemote | (isParentRemote ? FLAGS.isRemote : 0);
  const parentId = parent === undefined ? "" : `,"parentSpanId":"${parent.spanId}"`;
  const own = attributes === undefined ? "" : pairsText(attributes);
  const separator = own === "" || common.attributes === "" ? "" : ",";
  const text = `{"traceId":"${span.traceId}","spanId":"${span.spanId}"${parentId},"flags":${flags},${common.head},"startTimeUnixNano":"${nanos(startedAt)}","endTimeUnixNano":"${nanos(startedAt + duration)}","attributes":[${common.attributes}${separator}${own}]`;
  if (span.tracestate === undefined && links === undefined && failure === undefined) return `${text}}`;
  const state = span.tracestate === undefined ? "" : `,"traceState":${quoted(span.tracestate)}`;
  const linked = links === undefined ? "" : `,"links":[${links.map(linkText).join()}]`;
  return `${text}${state}${linked}${failure === undefined ? "" : statusText(failure.message)}}`;
}

/** A list of OTLP attributes. */
export const attributesText = (attributes: Attributes): string => `[${pairsText(attributes)}]`;

const pairsText = (attributes: Attributes): string =>
  Object.entries(attributes)
    .map(([name, value]) => `{"key":${quoted(name)},"value":${valueText(value)}}`)
    .join();

function valueText(value: AttributeValue): string {
  if (typeof value === "string") return `{"stringValue":${quoted(value)}}`;
  if (typeof value === "number")
    return Number.isInteger(value) ? `{"intValue":${value}}` : `{"doubleValue":${value}}`;
  return `{"arrayValue":{"values":[${value.map(valueText).join()}]}}`;
}

const linkText = ({ traceId, spanId, isSampled, tracestate }: NamedSpan): string => {
  const state = tracestate === undefined ? "" : `,"traceState":${quoted(tracestate)}`;
  const flags = (isSampled ? FLAGS.sampled : 0) | FLAGS.hasIsRemote | FLAGS.isRemote;
  return `{"traceId":"${traceId}","spanId":"${spanId}"${state},"flags":${flags}}`;
};

const statusText = (message: string | undefined): string =>
  `,"status":{"code":${STATUS_ERROR}${message === undefined ? "" : `,"message":${quoted(message)}`}}`;

const MICROS_PER_SECOND = 1_000_000;

/**
 * Nanoseconds, with microsecond precision. In two parts, because V8 formats numbers beyond 2^31 slowly; JSON numbers
 * would be rounded.
 */
function nanos(ms: number): string {
  const micros = Math.round(ms * 1000);
  const seconds = Math.floor(micros / MICROS_PER_SECOND);
  const rest = micros - seconds * MICROS_PER_SECOND;
  return `${seconds === 0 ? "" : seconds}${seconds === 0 ? rest : String(MICROS_PER_SECOND + rest).slice(1)}000`;
}

const PLAIN = /^[ !#-[\]-~]*$/;

/** Most texts need no escaping, and checking that takes a tenth of the time of writing. */
const quoted = (text: string): string => (PLAIN.test(text) ? `"${text}"` : writeJson(text));
