/** A cache of the text that spans of the same operation share. */
import { type Operation, operationAttributes, type Redact, spanName } from "./attributes.js";
import { type SpanKindText, spanKindText } from "./span.js";

interface KnownOperation {
  readonly operation: Operation;
  readonly text: SpanKindText;
}

/** Maximum targets; beyond it all are rebuilt. */
const MAX_TARGETS = 1_000;
/** Operations per target: servers, eras and outcomes. */
const MAX_OPERATIONS = 16;
/** The texts of operations. */
export class SpanTexts {
  /**
   * Keyed by the target's name, whose hash V8 caches; then compared one by one. A key of all members would be a new
   * string per span, to be flattened and hashed.
   */
  readonly #known = new Map<string, KnownOperation[]>();
  readonly #redact: Redact;

  constructor(redact: Redact) {
    this.#redact = redact;
  }

  of(operation: Operation): SpanKindText {
    const target = operation.target?.name ?? "";
    const known = this.#known.get(target);
    const found = known?.find((each) => isSame(each.operation, operation));
    if (found !== undefined) return found.text;
    const attributes = operationAttributes(operation, this.#redact);
    const text = spanKindText(spanName(operation), operation.kind, attributes);
    if (isFromServer(operation)) this.#keep(target, known ?? [], { operation, text });
    return text;
  }

  #keep(target: string, known: KnownOperation[], added: KnownOperation): void {
    if (known.length >= MAX_OPERATIONS) known.length = 0;
    known.push(added);
    if (known.length > 1) return;
    if (this.#known.size >= MAX_TARGETS) this.#known.clear();
    this.#known.set(target, known);
  }
}

/** URIs and unknown names are chosen by hosts: there are many, and their redaction depends on current secrets. */
const isFromServer = ({ isRouted, target }: Operation): boolean =>
  target === undefined ? isRouted : isRouted && (target.kind === "tools" || target.kind === "prompts");

const isSame = (a: Operation, b: Operation): boolean =>
  a.kind === b.kind &&
  a.method === b.method &&
  a.isRouted === b.isRouted &&
  a.target?.kind === b.target?.kind &&
  a.revision === b.revision &&
  a.isHttp === b.isHttp &&
  a.server === b.server &&
  a.address === b.address &&
  a.ending.outcome === b.ending.outcome &&
  a.ending.code === b.ending.code &&
  a.ending.failure?.type === b.ending.failure?.type;
