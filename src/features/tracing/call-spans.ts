/**
 * The spans of a call: one as the server of its host, a child for each call to a server, and one for the wait for a
 * person (decision 51).
 */
import type { Call, Handler, Middleware, Observer, Reply } from "../../core/call.js";
import type { CallNotes, TraceContext } from "../../core/call-record.js";
import type { LayeredServer } from "../../core/feature.js";
import { contextOf, type NamedSpan, readContext } from "../../core/trace-context.js";
import { serverOf } from "../../telemetry/finished-calls.js";
import { objectAt } from "../../wire/json.js";
import {
  type Ending,
  endedForHost,
  endedForServer,
  endedWithout,
  exposedTarget,
  ownTarget,
  type Redact,
  requestText,
} from "./attributes.js";
import type { SpanIds } from "./ids.js";
import { type Attributes, KIND, type SpanFacts, type SpanKindText, spanKindText } from "./span.js";
import { SpanTexts } from "./span-texts.js";
import type { Tracing } from "./types.js";
import type { WallClock } from "./wall-clock.js";

/** Dependencies of the spans. */
export interface CallSpansOptions {
  /** Samples a call, given its trace and the decision of its parent. */
  readonly isSampled: (traceId: string, parent: NamedSpan | undefined) => boolean;
  readonly ids: SpanIds;
  readonly clock: WallClock;
  readonly redact: Redact;
  /** Receives each finished span. */
  readonly ended: (span: SpanFacts) => void;
}

/** The span of a running call; `call.record.span`. */
class OpenSpan {
  constructor(
    readonly span: NamedSpan,
    readonly parent: NamedSpan | undefined,
    readonly isParentRemote: boolean,
    readonly links: readonly NamedSpan[] | undefined,
    /** By `performance.now()`. */
    readonly since: number,
    /** In ms since 1970. */
    readonly startedAt: number,
  ) {}
}

/** Creates the spans of calls. */
export class CallSpans implements Pick<Tracing, "calls" | "servedBy"> {
  readonly #options: CallSpansOptions;
  readonly #texts: SpanTexts;

  constructor(options: CallSpansOptions) {
    this.#options = options;
    this.#texts = new SpanTexts(options.redact);
  }

  /** Must be inside the observer of open questions, which tells what a call answers. */
  readonly calls: Observer = {
    name: "callSpans",
    onStart: (call) => {
      if (call.record !== undefined) this.#begin(call, call.record);
    },
    onEnd: (call, reply) => {
      const open = call.record?.span;
      if (call.record !== undefined && open instanceof OpenSpan) this.#end(call, call.record, open, reply);
    },
  };

  #begin(call: Call, notes: CallNotes): void {
    const meta = objectAt(call.params, "_meta");
    const sent = meta === undefined ? undefined : readContext(meta.traceparent, meta.tracestate);
    const ambient = read(notes.ambient);
    const before = read(notes.answered?.trace);
    const parent = sent ?? ambient ?? before;
    const { ids, isSampled, clock } = this.#options;
    const traceId = parent?.traceId ?? ids.trace();
    notes.traceId = traceId;
    if (!isSampled(traceId, parent)) {
      notes.trace = unsampledContext(sent, parent, { traceId, ids });
      return;
    }
    const span = { traceId, spanId: ids.span(), isSampled: true, tracestate: parent?.tracestate };
    const since = performance.now();
    const startedAt = clock.at(since);
    notes.trace = contextOf(span);
    const isParentRemote = parent !== undefined && parent !== before;
    notes.span = new OpenSpan(
      span,
      parent,
      isParentRemote,
      ambient === undefined && before === undefined ? undefined : othersThan(parent, [ambient, before]),
      since,
      startedAt,
    );
    if (parent !== undefined && notes.answered !== undefined && notes.inputMs > 0)
      this.#waited(call, notes, { parent, isParentRemote, until: startedAt });
  }

  /**
   * The time from the questions to this call, in which a person or a model answered: a sibling of the spans of the two
   * rounds.
   */
  #waited(call: Call, { answered, inputMs }: CallNotes, round: AnsweringRound): void {
    const { ids, ended } = this.#options;
    const { parent, isParentRemote, until } = round;
    const { traceId, tracestate } = parent;
    const attributes = {
      "mcp.method.name": call.method,
      "cardea.input.kinds": [...(answered?.kinds ?? [])],
      ...(call.route !== undefined && { "cardea.server": call.route.upstream }),
    };
    ended({
      common: spanKindText("wait for input", KIND.internal, attributes),
      span: { traceId, spanId: ids.span(), isSampled: true, tracestate },
      parent,
      isParentRemote,
      startedAt: until - inputMs,
      duration: inputMs,
      attributes: "",
    });
  }

  #end(call: Call, notes: CallNotes, open: OpenSpan, reply: Reply): void {
    const ending = endedForHost(call, reply, this.#options.redact);
    const { host, requestId, rule } = notes;
    const common = this.#texts.of({
      kind: KIND.server,
      method: call.method,
      isRouted: call.route !== undefined,
      target: exposedTarget(call),
      revision: host?.revision,
      isHttp: host?.isHttp,
      ending,
      server: serverOf(call, reply) ?? "",
      address: undefined,
    });
    this.#options.ended(finished(open, common, requestText(requestId, host?.sessionId, rule), ending));
  }

  servedBy(server: LayeredServer): Middleware {
    const address = addressOf(server.url);
    return (next: Handler): Handler => {
      const servedBy: Handler = (call) => {
        const { record: notes } = call;
        if (notes?.trace === undefined) return next(call);
        const parent = notes.span;
        if (!(parent instanceof OpenSpan)) {
          notes.sentTrace = notes.trace;
          return next(call);
        }
        const open = this.#child(parent);
        notes.sentTrace = contextOf(open.span);
        notes.sentId = undefined;
        notes.sentTo = undefined;
        const end = (ending: Ending): void => this.#sent(call, notes, { open, ending, address, server });
        const { redact } = this.#options;
        return next(call).then(
          (reply) => {
            end(endedForServer(call, reply, redact));
            return reply;
          },
          (error: unknown) => {
            end(endedWithout(error, redact));
            throw error;
          },
        );
      };
      return servedBy;
    };
  }

  #child({ span, since, startedAt }: OpenSpan): OpenSpan {
    const now = performance.now();
    const own = { ...span, spanId: this.#options.ids.span() };
    return new OpenSpan(own, span, false, undefined, now, startedAt + now - since);
  }

  #sent(call: Call, notes: CallNotes, { open, ending, address, server }: Sent): void {
    const { sentTo, sentId } = notes;
    const common = this.#texts.of({
      kind: KIND.client,
      method: call.method,
      isRouted: call.route !== undefined,
      target: ownTarget(call),
      revision: sentTo?.revision,
      isHttp: server.url !== undefined,
      ending,
      server: server.name,
      address,
    });
    this.#options.ended(finished(open, common, requestText(sentId, sentTo?.sessionId), ending));
  }
}

/** The position of a wait's span. */
interface AnsweringRound {
  readonly parent: NamedSpan;
  readonly isParentRemote: boolean;
  /** In ms since 1970. */
  readonly until: number;
}

interface Sent {
  readonly open: OpenSpan;
  readonly ending: Ending;
  readonly address: Attributes;
  readonly server: LayeredServer;
}

function finished(
  { span, parent, isParentRemote, links, since, startedAt }: OpenSpan,
  common: SpanKindText,
  attributes: string,
  { failure }: Ending,
): SpanFacts {
  const duration = performance.now() - since;
  return { common, span, parent, isParentRemote, startedAt, duration, attributes, links, failure };
}

/** Links to the spans other than the parent; undefined if there are none. */
function othersThan(
  parent: NamedSpan | undefined,
  spans: readonly (NamedSpan | undefined)[],
): readonly NamedSpan[] | undefined {
  const others = spans.flatMap((each) =>
    each === undefined || each.spanId === parent?.spanId ? [] : [each],
  );
  return others.length === 0 ? undefined : others;
}

const read = (context: TraceContext | undefined): NamedSpan | undefined =>
  context === undefined ? undefined : readContext(context.traceparent, context.tracestate);

/**
 * The `traceparent` to a server of an unsampled call: not sampled, so that no part of it is traced alone. Undefined if
 * the host has sent one in `_meta`, which is forwarded unchanged.
 */
function unsampledContext(
  sent: NamedSpan | undefined,
  parent: NamedSpan | undefined,
  { traceId, ids }: { readonly traceId: string; readonly ids: SpanIds },
): TraceContext | undefined {
  if (sent?.isSampled === false) return undefined;
  const spanId = parent?.spanId ?? ids.span();
  return contextOf({ traceId, spanId, isSampled: false, tracestate: parent?.tracestate });
}

function addressOf(url: string | undefined): Attributes {
  if (url === undefined || !URL.canParse(url)) return {};
  const { hostname, port, protocol } = new URL(url);
  const standard = protocol === "https:" ? 443 : 80;
  return { "server.address": hostname, "server.port": port === "" ? standard : Number(port) };
}
