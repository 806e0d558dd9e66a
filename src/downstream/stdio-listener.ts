/** The gateway as a server on standard streams: one JSON document per line, the era decided per message. */
import { isUtf8 } from "node:buffer";
import type { Readable, Writable } from "node:stream";
import { ANONYMOUS, type Principal } from "../core/client.js";
import { GatewayError, refusalError } from "../core/errors.js";
import { type Logger, SILENT } from "../core/logger.js";
import { withTimeout } from "../core/stop.js";
import {
  type Batch,
  codeOf,
  type Envelope,
  FrameError,
  isBatch,
  isResponse,
  type MessageId,
  parseDocument,
} from "../wire/envelope.js";
import { exceedsDepth, MAX_DEPTH } from "../wire/json-scan.js";
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

  const splitter = new LineSplitter(
    {
      line: (bytes) => {
        try {
          receive(readLine(bytes));
        } catch (error) {
          if (!(error instanceof FrameError)) throw error;
          answerError(error.id ?? null, error.code, error.message);
        }
      },
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
    for (const edge of edges.values()) edge.onInputEnd?.();
    ended.resolve();
  };
  const resume = () => {
    input.resume();
    notifyRead();
  };
  input.on("data", read).once("end", onInputEnd).once("close", ended.resolve).once("error", ended.resolve);
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
    input.off("data", read);
    input.pause();
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

/** @throws FrameError */
function readLine(bytes: Buffer): Envelope | Batch {
  // With a replacement character policy would evaluate another text than the one that was sent.
  if (!isUtf8(bytes)) throw new FrameError(-32700, "the line is not valid UTF-8");
  const text = bytes.toString("utf8");
  if (exceedsDepth(text))
    throw new FrameError(-32600, `the message is nested deeper than ${MAX_DEPTH} levels`);
  return checkHostLengths(parseDocument(text), text.length);
}

function deferred(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
