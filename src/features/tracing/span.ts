/**
 * Writes a finished span as OTLP JSON, once, when it ends. The shared part is already text (`SpanKindText`), and most spans
 * are written as bytes by `span-bytes.ts`. The packages would create 40 objects per span, which wait for the export
 * (decision 51).
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
  /** The bytes of a span from its start to these attributes, with zeros where `PREFIX` says that ids, times and flags are. */
  readonly bytes: Buffer;
}

const TRACE_ID = "0".repeat(32);
const SPAN_ID = "0".repeat(16);
const NANOS = "0".repeat(19);
const beforeTrace = `{"traceId":"`;
const beforeSpan = `${beforeTrace}${TRACE_ID}","spanId":"`;
const beforeStart = `${beforeSpan}${SPAN_ID}","startTimeUnixNano":"`;
const beforeEnd = `${beforeStart}${NANOS}","endTimeUnixNano":"`;
const beforeFlags = `${beforeEnd}${NANOS}","flags":`;
const LOCAL_PARENT_FLAGS = String(FLAGS.sampled | FLAGS.hasIsRemote);
/** The flags of a span with a remote parent: as many digits. */
export const REMOTE_PARENT_FLAGS = String(FLAGS.sampled | FLAGS.hasIsRemote | FLAGS.isRemote);

/** Where ids, times and flags are in `SpanKindText.bytes`. */
export const PREFIX = {
  traceAt: beforeTrace.length,
  spanAt: beforeSpan.length,
  startAt: beforeStart.length,
  endAt: beforeEnd.length,
  flagsAt: beforeFlags.length,
} as const;

/** Writes the shared text. */
export function spanKindText(
  name: string,
  kind: (typeof KIND)[keyof typeof KIND],
  common: Attributes,
): SpanKindText {
  const head = `"name":${quoted(name)},"kind":${kind}`;
  const attributes = pairsText(common);
  const bytes = Buffer.from(`${beforeFlags}${LOCAL_PARENT_FLAGS},${head},"attributes":[${attributes}`);
  return { head, attributes, bytes };
}

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
  /** Those in addition to `common`, as text: separated by commas. */
  readonly attributes: string;
  readonly links?: readonly NamedSpan[] | undefined;
  /** The error message; undefined without an error. */
  readonly failure?: { readonly message: string | undefined } | undefined;
}

/** The span as JSON. */
export function spanText(facts: SpanFacts): string {
  const { common, span, parent, isParentRemote, startedAt, duration, attributes, links, failure } = facts;
  const flags = FLAGS.sampled | FLAGS.hasIsRemote | (isParentRemote ? FLAGS.isRemote : 0);
  const parentId = parent === undefined ? "" : `,"parentSpanId":"${parent.spanId}"`;
  const separator = attributes === "" || common.attributes === "" ? "" : ",";
  const text = `{"traceId":"${span.traceId}","spanId":"${span.spanId}"${parentId},"flags":${flags},${common.head},"startTimeUnixNano":"${nanos(startedAt)}","endTimeUnixNano":"${nanos(startedAt + duration)}","attributes":[${common.attributes}${separator}${attributes}]`;
  if (span.tracestate === undefined && links === undefined && failure === undefined) return `${text}}`;
  const state = span.tracestate === undefined ? "" : `,"traceState":${quoted(span.tracestate)}`;
  const linked = links === undefined ? "" : `,"links":[${links.map(linkText).join()}]`;
  return `${text}${state}${linked}${failure === undefined ? "" : statusText(failure.message)}}`;
}

/** OTLP attributes, separated by commas. */
export const pairsText = (attributes: Attributes): string =>
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

/** As JSON. Most texts need no escaping, and checking that takes a tenth of the time of writing. */
export const quoted = (text: string): string => (PLAIN.test(text) ? `"${text}"` : writeJson(text));
