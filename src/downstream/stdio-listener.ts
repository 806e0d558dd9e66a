/** The gateway as a server on standard streams: one JSON document per line, the era decided per message. */
import { isUtf8 } from "node:buffer";
import type { Readable, Writable } from "node:stream";
import { ANONYMOUS, type Principal } from "../core/client.js";
import { GatewayError, refusalError } from "../core/errors.js";
import { type Logger, SILENT } from "../core/logger.js";
import { withTimeout } from "../core/stop.js";
import type { Steps } from "../runtime/cooperative-yield.js";
import { DocumentQueue, type DocumentSource } from "../runtime/document-queue.js";
import {
  type Batch,
  codeOf,
  type Envelope,
  FrameError,
  isBatch,
  isResponse,
  type MessageId,
  parseDocument,
  parseDocumentInSteps,
} from "../wire/envelope.js";
import { exceedsDepth, MAX_DEPTH, NestedTooDeep } from "../wire/json-scan.js";
import { writeJson } from "../wire/json-text.js";
import { checkHostLengths } from "../wire/length-limits.js";
import { LineSplitter, MAX_LINE_BYTES } from "../wire/lines.js";
import type { Era, Pipe, PipeEdge } from "./edge.js";

/** The two streams, the edges of both eras, and limits. */
export interface StdioListenerOptions {
  readonly input: Readable;
  readonly output: Writable;
  /** Each is called at most once, when the first message of its era comes. */
  readonly openEdge: Readonly<Record<Era, (pipe: Pipe) => PipeEdge>>;
  readonly detect: (message: Envelope | Batch) => Era;
  /** Default: the one anonymous principal. */
  readonly principal?: Principal;
  readonly maxLineBytes?: number;
  /** Time limit (ms) for calls in flight after the end of the input. Default 5 s. */
  readonly drainMs?: number;
  readonly logger?: Logger;
}

/** A listener on standard streams that is running. */
export interface StdioListener {
  /** Resolves when everything has ended: the input, the calls in flight, and the writing of their answers. */
  readonly done: Promise<void>;
  /** Reads no more, and ends as if the input had ended; calls in flight have `graceMs`, by default `drainMs`. */
  stop(graceMs?: number): Promise<void>;
}

/** With more than this waiting to be read by the host, nothing more is read from it. In bytes. */
const PAUSE_BYTES = 4 * 1024 * 1024;
/** With more than this waiting, the host is taken for dead. In bytes. */
const MAX_UNREAD_BYTES = 64 * 1024 * 1024;

/** Serves a host on `input` and `output` until the input ends. */
export function createStdioListener(options: StdioListenerOptions): StdioListener {
  const { input, output, openEdge, detect, logger = SILENT } = options;
  const edges = new Map<Era, PipeEdge>();
  const inFlight = new Set<Promise<void>>();
  const ended = deferred();
  let drainMs = options.drainMs ?? 5000;
  let writable = true;
  let isReading = true;

  const awaitingRead = new Set<() => void>();
  const notifyRead = (): void => {
    const listeners = [...awaitingRead];
    awaitingRead.clear();
    for (const listener of listeners) listener();
  };

  const pipe: Pipe = {
    principal: options.principal ?? ANONYMOUS,
    endpoint: "",
    isSpawnedByHost: true,
    backlog: {
      get unread() {
        return output.writableLength;
      },
      get isGone() {
        return !writable;
      },
      onceRead: (listener) => void awaitingRead.add(listener),
    },
    send(text) {
      if (!writable) return;
      // One write per message: two writers could otherwise come between a message and its line end.
      output.write(typeof text === "string" ? `${text}\n` : Buffer.concat([text, LF]));
      if (output.writableLength > MAX_UNREAD_BYTES)
        onHostGone(new Error("the host does not read its responses"));
      else if (output.writableLength > PAUSE_BYTES) input.pause();
    },
  };

  const lines = new HostLines(
    {
      document: receive,
      invalid: (error) => answerError(error.id ?? null, error.code, error.message),
    },
    {
      pause: () => input.pause(),
      resume: () => {
        if (isReading && output.writableLength <= PAUSE_BYTES) input.resume();
      },
    },
  );
  const splitter = new LineSplitter(
    {
      line: (bytes) => lines.push(bytes),
      tooLong: () => {
        const error = refusalError(new GatewayError("too_large", "downstream", "the line is too long"));
        answerError(null, codeOf(error), error.message);
      },
    },
    options.maxLineBytes ?? MAX_LINE_BYTES,
  );

  const read = (chunk: Buffer | string) =>
    splitter.push(typeof chunk === "string" ? Buffer.from(chunk) : chunk);
  const onInputEnd = () => {
    splitter.end();
    lines.whenIdle(() => {
      for (const edge of edges.values()) edge.onInputEnd?.();
      ended.resolve();
    });
  };
  const resume = () => {
    if (!lines.isBusy) input.resume();
    notifyRead();
  };
  const onInputGone = () => lines.whenIdle(ended.resolve);
  input.on("data", read).once("end", onInputEnd).once("close", onInputGone).once("error", onInputGone);
  output.on("drain", resume).on("error", onHostGone);

  const done = ended.promise.then(finish);
  return {
    done,
    stop(graceMs = drainMs) {
      drainMs = graceMs;
      ended.resolve();
      return done;
    },
  };

  function receive(message: Envelope | Batch): void {
    if (isBatch(message)) {
      const edge = edges.get("legacy");
      if (edge?.receiveBatch === undefined) answerError(null, -32600, "a batch is not possible here");
      else track(edge.receiveBatch(message));
      return;
    }
    // Neither says which era it is of: a cancellation is shown to both, and only the legacy era asks questions.
    if (message.method === "notifications/cancelled")
      for (const edge of edges.values()) track(edge.receive(message));
    else if (isResponse(message)) track(edges.get("legacy")?.receive(message));
    else track(edgeOf(detect(message)).receive(message));
  }

  function edgeOf(era: Era): PipeEdge {
    const known = edges.get(era);
    if (known !== undefined) return known;
    const opened = openEdge[era](pipe);
    edges.set(era, opened);
    return opened;
  }

  function track(served: void | Promise<void>): void {
    if (!(served instanceof Promise)) return;
    const settled = served
      .catch((error: unknown) => logger.error({ error }, "a message on stdin failed: internal error"))
      .finally(() => inFlight.delete(settled));
    inFlight.add(settled);
  }

  function answerError(id: MessageId | null, code: number, message: string): void {
    pipe.send(writeJson({ jsonrpc: "2.0", id, error: { code, message } }));
  }

  /** The reading end is closed (EPIPE) or stalled: no response can reach the host. */
  function onHostGone(error: unknown): void {
    if (!writable) return;
    writable = false;
    logger.debug({ error }, "the host no longer reads stdout; stopping");
    notifyRead();
    ended.resolve();
  }

  async function finish(): Promise<void> {
    isReading = false;
    input.off("data", read);
    input.pause();
    lines.clear();
    if (writable) await withTimeout(drainMs, Promise.all(inFlight));
    await Promise.all([...edges.values()].map((edge) => edge.close()));
    if (writable) await withTimeout(drainMs, flushed());
    output.off("drain", resume);
  }

  /** Resolves when all that was written has left the process, or never will. */
  function flushed(): Promise<void> {
    return new Promise((resolve) => {
      output.once("error", () => resolve());
      output.write("", () => resolve());
    });
  }
}

const LF = Buffer.from("\n");

/** Receives what the lines hold. */
interface HostLinesSink {
  document(document: Envelope | Batch): void;
  invalid(error: FrameError): void;
}

/** The lines of the host; long ones are read in steps. */
class HostLines extends DocumentQueue {
  readonly #sink: HostLinesSink;

  constructor(sink: HostLinesSink, source: DocumentSource) {
    super(source);
    this.#sink = sink;
  }

  protected override read(line: Buffer): number {
    try {
      const text = decoded(line);
      if (exceedsDepth(text)) throw tooDeep();
      this.#sink.document(checkHostLengths(parseDocument(text), text.length));
    } catch (error) {
      this.#onError(error);
    }
    return 1;
  }

  protected override *readInSteps(line: Buffer): Steps<void> {
    try {
      const text = decoded(line);
      yield;
      const document = yield* parseDocumentInSteps(text, MAX_DEPTH);
      this.#sink.document(checkHostLengths(document, text.length));
    } catch (error) {
      this.#onError(error instanceof NestedTooDeep ? tooDeep() : error);
    }
  }

  #onError(error: unknown): void {
    if (!(error instanceof FrameError)) throw error;
    this.#sink.invalid(error);
  }
}

const tooDeep = (): FrameError =>
  new FrameError(-32600, `the message is nested deeper than ${MAX_DEPTH} levels`);

/** @throws FrameError */
function decoded(line: Buffer): string {
  // With a replacement character policy would evaluate another text than the one that was sent.
  if (!isUtf8(line)) throw new FrameError(-32700, "the line is not valid UTF-8");
  return line.toString("utf8");
}

function deferred(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
