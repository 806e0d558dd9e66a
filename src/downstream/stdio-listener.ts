/** The gateway as a server on standard streams: one JSON document per line, the era decided per message. */
import type { Readable, Writable } from "node:stream";
import { ANONYMOUS, type Principal } from "../core/client.js";
import { GatewayError, refusalError } from "../core/errors.js";
import { type Logger, SILENT } from "../core/logger.js";
import { withTimeout } from "../core/stop.js";
import { type Batch, codeOf, type Envelope, isBatch, isResponse, type MessageId } from "../wire/envelope.js";
import { writeJson } from "../wire/json-text.js";
import { LineSplitter, MAX_LINE_BYTES } from "../wire/lines.js";
import type { Era, Pipe, PipeEdge } from "./edge.js";
import { HostLines } from "./host-lines.js";

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
export const createStdioListener = (options: StdioListenerOptions): StdioListener =>
  new PipeListener(options);

class PipeListener implements StdioListener {
  readonly done: Promise<void>;
  readonly #options: StdioListenerOptions;
  readonly #logger: Logger;
  readonly #edges = new Map<Era, PipeEdge>();
  readonly #inFlight = new Set<Promise<void>>();
  readonly #awaitingRead = new Set<() => void>();
  readonly #pipe: Pipe;
  readonly #lines: HostLines;
  readonly #splitter: LineSplitter;
  #end!: () => void;
  #drainMs: number;
  #isWritable = true;
  #isReading = true;

  constructor(options: StdioListenerOptions) {
    this.#options = options;
    const { input, output, logger = SILENT } = options;
    this.#logger = logger;
    this.#drainMs = options.drainMs ?? 5000;
    this.#pipe = this.#openPipe();
    this.#lines = new HostLines(
      {
        document: (message) => this.#receive(message),
        invalid: (error) => this.#answerError(error.id ?? null, error.code, error.message),
      },
      {
        pause: () => input.pause(),
        resume: () => {
          if (this.#isReading && output.writableLength <= PAUSE_BYTES) input.resume();
        },
      },
    );
    this.#splitter = new LineSplitter(
      {
        line: (bytes) => this.#lines.push(bytes),
        tooLong: () => {
          const error = refusalError(new GatewayError("too_large", "downstream", "the line is too long"));
          this.#answerError(null, codeOf(error), error.message);
        },
      },
      options.maxLineBytes ?? MAX_LINE_BYTES,
    );
    const ended = new Promise<void>((resolve) => {
      this.#end = resolve;
    });
    const onInputGone = () => this.#lines.whenIdle(this.#end);
    input.on("data", this.#read).once("end", () => this.#onInputEnd());
    input.once("close", onInputGone).once("error", onInputGone);
    output.on("drain", this.#resume).on("error", (error) => this.#onHostGone(error));
    this.done = ended.then(() => this.#finish());
  }

  stop(graceMs = this.#drainMs): Promise<void> {
    this.#drainMs = graceMs;
    this.#end();
    return this.done;
  }

  #openPipe(): Pipe {
    const { output, principal = ANONYMOUS } = this.#options;
    const isGone = (): boolean => !this.#isWritable;
    return {
      principal,
      endpoint: "",
      isSpawnedByHost: true,
      backlog: {
        get unread() {
          return output.writableLength;
        },
        get isGone() {
          return isGone();
        },
        onceRead: (listener) => void this.#awaitingRead.add(listener),
      },
      send: (text) => this.#send(text),
    };
  }

  #send(text: string | Buffer): void {
    if (!this.#isWritable) return;
    const { input, output } = this.#options;
    // One write per message: two writers could otherwise come between a message and its line end.
    output.write(typeof text === "string" ? `${text}\n` : Buffer.concat([text, LF]));
    if (output.writableLength > MAX_UNREAD_BYTES)
      this.#onHostGone(new Error("the host does not read its responses"));
    else if (output.writableLength > PAUSE_BYTES) input.pause();
  }

  readonly #read = (chunk: Buffer | string): void =>
    this.#splitter.push(typeof chunk === "string" ? Buffer.from(chunk) : chunk);

  readonly #resume = (): void => {
    if (!this.#lines.isBusy) this.#options.input.resume();
    this.#notifyRead();
  };

  #notifyRead(): void {
    const listeners = [...this.#awaitingRead];
    this.#awaitingRead.clear();
    for (const listener of listeners) listener();
  }

  #onInputEnd(): void {
    this.#splitter.end();
    this.#lines.whenIdle(() => {
      for (const edge of this.#edges.values()) edge.onInputEnd?.();
      this.#end();
    });
  }

  #receive(message: Envelope | Batch): void {
    const edges = this.#edges;
    if (isBatch(message)) {
      const edge = edges.get("legacy");
      if (edge?.receiveBatch === undefined) this.#answerError(null, -32600, "a batch is not possible here");
      else this.#track(edge.receiveBatch(message));
      return;
    }
    // Neither says which era it is of: a cancellation is shown to both, and only the legacy era asks questions.
    if (message.method === "notifications/cancelled")
      for (const edge of edges.values()) this.#track(edge.receive(message));
    else if (isResponse(message)) this.#track(edges.get("legacy")?.receive(message));
    else this.#track(this.#edgeOf(this.#options.detect(message)).receive(message));
  }

  #edgeOf(era: Era): PipeEdge {
    const known = this.#edges.get(era);
    if (known !== undefined) return known;
    const opened = this.#options.openEdge[era](this.#pipe);
    this.#edges.set(era, opened);
    return opened;
  }

  #track(served: void | Promise<void>): void {
    if (!(served instanceof Promise)) return;
    const settled = served
      .catch((error: unknown) => this.#logger.error({ error }, "a message on stdin failed: internal error"))
      .finally(() => this.#inFlight.delete(settled));
    this.#inFlight.add(settled);
  }

  #answerError(id: MessageId | null, code: number, message: string): void {
    this.#send(writeJson({ jsonrpc: "2.0", id, error: { code, message } }));
  }

  /** The reading end is closed (EPIPE) or stalled: no response can reach the host. */
  #onHostGone(error: unknown): void {
    if (!this.#isWritable) return;
    this.#isWritable = false;
    this.#logger.debug({ error }, "the host no longer reads stdout; stopping");
    this.#notifyRead();
    this.#end();
  }

  async #finish(): Promise<void> {
    const { input, output } = this.#options;
    this.#isReading = false;
    input.off("data", this.#read);
    input.pause();
    this.#lines.clear();
    if (this.#isWritable) await withTimeout(this.#drainMs, Promise.all(this.#inFlight));
    await Promise.all([...this.#edges.values()].map((edge) => edge.close()));
    if (this.#isWritable) await withTimeout(this.#drainMs, this.#flushed());
    output.off("drain", this.#resume);
  }

  /** Resolves when all that was written has left the process, or never will. */
  #flushed(): Promise<void> {
    const { output } = this.#options;
    return new Promise((resolve) => {
      output.once("error", () => resolve());
      output.write("", () => resolve());
    });
  }
}

const LF = Buffer.from("\n");
