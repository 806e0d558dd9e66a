/** What is a finished span, as the exporter reads it? */
import type { Attributes, HrTime, Link, SpanContext, SpanStatus } from "@opentelemetry/api";
import type { Resource } from "@opentelemetry/resources";
import type { ReadableSpan } from "@opentelemetry/sdk-trace-base";
import type { NamedSpan } from "../core/trace-context.js";

/** Values of `SpanKind` in the API, which is loaded only with the exporter. */
export const KIND = { internal: 0, server: 1, client: 2 } as const;
const STATUS = { unset: 0, error: 2 } as const;
const OK: SpanStatus = { code: STATUS.unset };
const SAMPLED = 1;
const NO_LINKS: Link[] = [];

/** What all spans of the process have in common. */
export interface SpanSource {
  readonly resource: Resource;
  readonly scope: { readonly name: string; readonly version: string };
}

/** A span as it ends. */
export interface SpanFacts {
  readonly name: string;
  readonly kind: (typeof KIND)[keyof typeof KIND];
  readonly span: NamedSpan;
  readonly parent: NamedSpan | undefined;
  /** Whether the parent is a span of another process. */
  readonly isParentRemote: boolean;
  /** In ms since 1970. */
  readonly startedAt: number;
  /** In ms. */
  readonly duration: number;
  readonly attributes: Attributes;
  readonly links?: readonly NamedSpan[] | undefined;
  /** What failed, for a reader; undefined where nothing did. */
  readonly failure?: { readonly message: string | undefined } | undefined;
}

/** A finished span. What the exporter alone needs is made when it reads it. */
export class FinishedSpan implements ReadableSpan {
  readonly ended = true;
  readonly events = [];
  readonly droppedAttributesCount = 0;
  readonly droppedEventsCount = 0;
  readonly droppedLinksCount = 0;
  readonly #facts: SpanFacts;
  readonly #source: SpanSource;

  constructor(facts: SpanFacts, source: SpanSource) {
    this.#facts = facts;
    this.#source = source;
  }

  get name(): string {
    return this.#facts.name;
  }

  get kind(): number {
    return this.#facts.kind;
  }

  get attributes(): Attributes {
    return this.#facts.attributes;
  }

  get startTime(): HrTime {
    return hrTime(this.#facts.startedAt);
  }

  get endTime(): HrTime {
    return hrTime(this.#facts.startedAt + this.#facts.duration);
  }

  get duration(): HrTime {
    return hrTime(this.#facts.duration);
  }

  get status(): SpanStatus {
    const { failure } = this.#facts;
    if (failure === undefined) return OK;
    const { message } = failure;
    return { code: STATUS.error, ...(message !== undefined && { message }) };
  }

  get links(): Link[] {
    const { links } = this.#facts;
    return links === undefined ? NO_LINKS : links.map((linked) => ({ context: contextFor(linked, true) }));
  }

  get parentSpanContext(): SpanContext {
    const { parent, isParentRemote } = this.#facts;
    return (parent === undefined ? undefined : contextFor(parent, isParentRemote)) as SpanContext;
  }

  get resource(): Resource {
    return this.#source.resource;
  }

  get instrumentationScope(): SpanSource["scope"] {
    return this.#source.scope;
  }

  spanContext(): SpanContext {
    return contextFor(this.#facts.span, false);
  }
}

function contextFor({ traceId, spanId, isSampled, tracestate }: NamedSpan, isRemote: boolean): SpanContext {
  return {
    traceId,
    spanId,
    isRemote,
    traceFlags: isSampled ? SAMPLED : 0,
    ...(tracestate !== undefined && { traceState: readOnlyState(tracestate) }),
  };
}

/** The exporter only writes it. */
function readOnlyState(text: string): NonNullable<SpanContext["traceState"]> {
  const state = { set: () => state, unset: () => state, get: () => undefined, serialize: () => text };
  return state;
}

/** Seconds and nanoseconds. */
function hrTime(ms: number): HrTime {
  const seconds = Math.floor(ms / 1000);
  return [seconds, Math.round((ms - seconds * 1000) * 1e6)];
}
