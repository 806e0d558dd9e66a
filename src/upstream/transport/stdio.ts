/** A channel to a server that is a child process and speaks JSON lines on its standard input and output. */
import { GatewayError } from "../../core/errors.js";
import {
  type Batch,
  type Envelope,
  FrameError,
  type Notification,
  type Request,
} from "../../wire/envelope.js";
import { LineSplitter, MAX_LINE_BYTES } from "../../wire/lines.js";
import { looksLikeMessage, readMessages } from "../../wire/message.js";
import type { Channel, ChannelResponse, ExchangeOptions } from "./channel.js";
import { childEnvironment } from "./child-environment.js";
import { LineWriter } from "./line-writer.js";
import { MessageDemultiplexer } from "./message-demultiplexer.js";
import { lineOf } from "./message-text.js";
import { type Exit, type ProcessGroup, startProcessGroup } from "./process-group.js";
import { NO_PROCESS_REGISTRY, type ProcessRegistry } from "./process-registry.js";
import { printable, RecentOutput } from "./recent-output.js";
import type { UnmatchedHandlers } from "./unmatched-messages.js";

export interface StdioOptions extends UnmatchedHandlers {
  /** The server's key in the config, for messages. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Over the few variables that every child gets; nothing else of the gateway's environment is passed on. */
  readonly env: Readonly<Record<string, string>>;
  /** Absolute. */
  readonly cwd: string;
  /** How long the process may take to end once its input is closed, and again after SIGTERM. Default: 2,000 ms. */
  readonly graceMs?: number;
  /** Takes secrets out of its last words, before they are cut. Default: as they are. */
  readonly redact?: (text: string) => string;
  /** Where the process is written down. Default: nowhere. */
  readonly processRegistry?: ProcessRegistry;
  /** Hears every line the process writes to stderr, cut at 8 KiB. */
  readonly onStderr?: (line: string) => void;
}

export interface StdioChannel extends Channel {
  /** Of the process; it is also the id of its process group. */
  readonly pid: number;
  /** What it wrote to stderr most recently, up to 64 KiB. */
  readonly stderr: string;
}

const MAX_STDERR_LINE_BYTES = 8 * 1024;
const EXCERPT_LENGTH = 200;
/** How long after a pipe was closed the process may still run before that counts as a fault. */
const EXIT_GRACE_MS = 1_000;

/**
 * Starts the process. The era must call `listen` before it sends anything: what nobody hears is dropped.
 *
 * @throws GatewayError `upstream_unavailable` when the process cannot be started.
 */
export async function openStdioChannel(options: StdioOptions): Promise<StdioChannel> {
  let group: ProcessGroup;
  try {
    group = await startProcessGroup({ ...options, env: childEnvironment(options.env) });
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new GatewayError("upstream_unavailable", "upstream", `${options.name} cannot be started: ${why}`, {
      cause,
      server: options.name,
      retryable: true,
    });
  }
  const { processRegistry = NO_PROCESS_REGISTRY, name, command } = options;
  const forget = processRegistry.register(group.pid, name, command);
  return new StdioPipeChannel(options, group, group.exited.then(forget));
}

class StdioPipeChannel implements StdioChannel {
  readonly association = "pipe";
  readonly pid: number;
  readonly closed: Promise<GatewayError>;
  readonly #options: StdioOptions;
  readonly #group: ProcessGroup;
  readonly #unregistered: Promise<void>;
  readonly #writer: LineWriter;
  readonly #messages: MessageDemultiplexer;
  readonly #recent: RecentOutput;
  /** Why nothing more can be sent; the first reason stands. */
  #closeReason: GatewayError | undefined;
  #exitTimer: NodeJS.Timeout | undefined;

  /** `unregistered`: nothing is written down of the process any more. */
  constructor(options: StdioOptions, group: ProcessGroup, unregistered: Promise<void>) {
    this.#options = options;
    this.#recent = new RecentOutput(undefined, options.redact);
    this.#unregistered = unregistered;
    this.#group = group;
    this.#writer = new LineWriter(group.stdin);
    this.#messages = new MessageDemultiplexer(options);
    this.pid = group.pid;
    const lines = new LineSplitter({
      line: (bytes) => this.#receive(bytes),
      tooLong: () => {
        this.#fail(`sent a line longer than ${MAX_LINE_BYTES} bytes`);
        group.kill();
      },
    });
    group.stdout.on("data", (chunk: Buffer) => lines.push(chunk));
    group.stdout.once("end", () => {
      lines.end();
      this.#onPipeClosed("closed its output");
    });
    group.stdin.once("close", () => this.#onPipeClosed("closed its input"));
    this.#readStderr();
    this.closed = group.exited.then((exit) => this.#finish(this.#exitMessage(exit)));
  }

  get stderr(): string {
    return this.#recent.text;
  }

  // No async function: to return the promise of another costs it three turns of the microtask queue.
  exchange(request: Request, options?: ExchangeOptions): Promise<ChannelResponse> {
    try {
      const line = lineOf(request);
      this.#throwIfClosed();
      const answer = this.#messages.wait(request.id, options);
      if (options?.signal?.aborted !== true && !this.#writer.write(line)) {
        this.#messages.reject(request.id, this.#notReading());
      }
      return answer;
    } catch (error) {
      return Promise.reject(error);
    }
  }

  async post(message: Notification | Envelope): Promise<void> {
    const line = lineOf(message);
    this.#throwIfClosed();
    if (!this.#writer.write(line)) throw this.#notReading();
  }

  listen(onMessage: (message: Envelope) => void): { readonly opened: Promise<boolean>; stop(): void } {
    return { opened: Promise.resolve(true), stop: this.#messages.listen(onMessage) };
  }

  async close(): Promise<void> {
    this.#closeReason ??= this.#ended("was closed by the gateway");
    this.#writer.flush();
    await this.#group.end();
    await this.closed;
    await this.#unregistered;
  }

  #receive(line: Buffer): void {
    if (!looksLikeMessage(line)) {
      this.#skip(line);
      return;
    }
    let messages: Batch;
    try {
      messages = readMessages(line);
    } catch (error) {
      // Whatever else a line may make fail, it is that line alone: nobody stands behind the event of the pipe.
      if (error instanceof FrameError) this.#receiveBroken(line, error);
      else this.#skip(line);
      return;
    }
    for (const message of messages) {
      if (message instanceof FrameError) this.#receiveBroken(line, message);
      else this.#messages.deliver(message);
    }
  }

  #receiveBroken(line: Buffer, error: FrameError): void {
    const answered =
      error.id !== undefined &&
      this.#messages.reject(
        error.id,
        new GatewayError(
          "upstream_closed",
          "upstream",
          `${this.#options.name} answered with something that is no valid response: ${error.message}`,
          { cause: error, server: this.#options.name, answered: true },
        ),
      );
    if (!answered) this.#skip(line);
  }

  #skip(line: Buffer): void {
    this.#options.onNonProtocolOutput?.(printable(line.toString("utf8", 0, EXCERPT_LENGTH)));
  }

  #readStderr(): void {
    const { onStderr } = this.#options;
    const lines = new LineSplitter(
      {
        line: (bytes) => onStderr?.(bytes.toString("utf8")),
        tooLong: () => onStderr?.(`(a line longer than ${MAX_STDERR_LINE_BYTES} bytes was left out)`),
      },
      MAX_STDERR_LINE_BYTES,
    );
    this.#group.stderr.on("data", (chunk: Buffer) => {
      this.#recent.push(chunk);
      if (onStderr !== undefined) lines.push(chunk);
    });
    this.#group.stderr.once("end", () => lines.end());
  }

  /** A pipe is closed. Mostly because the process is exiting, which then tells more; if not, it is of no use. */
  #onPipeClosed(what: string): void {
    this.#exitTimer ??= setTimeout(() => {
      this.#fail(what);
      // However that goes, `exited` tells.
      this.#group.end().catch(() => {});
    }, EXIT_GRACE_MS);
  }

  /** Nothing more can come of it, although the process still runs. */
  #fail(what: string): void {
    this.#closeReason ??= this.#ended(what);
    this.#messages.end(this.#closeReason);
  }

  #finish(what: string): GatewayError {
    clearTimeout(this.#exitTimer);
    this.#closeReason ??= this.#ended(what);
    this.#messages.end(this.#closeReason);
    return this.#closeReason;
  }

  #throwIfClosed(): void {
    if (this.#closeReason === undefined) return;
    throw new GatewayError("upstream_unavailable", "upstream", this.#closeReason.message, {
      cause: this.#closeReason,
      server: this.#options.name,
      retryable: true,
      supervised: true,
    });
  }

  #exitMessage(exit: Exit): string {
    const how = exit.signal === null ? `exited with code ${exit.code}` : `was ended by ${exit.signal}`;
    const words = this.#recent.errorExcerpt;
    return words === "" ? how : `${how}; its last words: ${words}`;
  }

  #ended(what: string): GatewayError {
    const { name } = this.#options;
    return new GatewayError("upstream_closed", "upstream", `${name} ${what}`, {
      server: name,
      retryable: true,
      supervised: true,
    });
  }

  #notReading(): GatewayError {
    const { name } = this.#options;
    return new GatewayError("upstream_unavailable", "upstream", `${name} does not read its input`, {
      server: name,
      retryable: true,
    });
  }
}
