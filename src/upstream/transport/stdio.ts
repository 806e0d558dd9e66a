/** How messages are exchanged with a child process: JSON lines on its stdin and stdout. */
import { GatewayError } from "../../core/errors.js";
import { type ProcessStart, preparedStart, reasonOfEnd, type StartLayer } from "../../core/process-start.js";
import { withTimeout } from "../../core/stop.js";
import { type Envelope, FrameError, type Notification, type Request } from "../../wire/envelope.js";
import { LineSplitter, MAX_LINE_BYTES } from "../../wire/lines.js";
import type { Channel, ChannelResponse, ExchangeOptions, UnmatchedHandlers } from "./channel.js";
import { invalidResponse } from "./invalid-response.js";
import { LineWriter } from "./line-writer.js";
import { lineOf } from "./message-bodies.js";
import { MessageDemultiplexer } from "./message-demultiplexer.js";
import { MessageReader } from "./message-reader.js";
import { childEnvironment, type Exit, type ProcessGroup, ProcessGroups } from "./process-group.js";
import { printable, RecentOutput } from "./recent-output.js";

/** The process to start, and what receives its other output. */
export interface StdioOptions extends UnmatchedHandlers, Omit<ProcessStart, "features"> {
  /** Default: none. */
  readonly features?: ProcessStart["features"];
  /** Change its start. Default: none. */
  readonly startLayers?: readonly StartLayer[] | undefined;
  /** How long the process may take to exit after stdin is closed, and again after SIGTERM. Default: 2,000 ms. */
  readonly graceMs?: number;
  /** Redacts secrets in quoted stderr, before it is cut. Default: none. */
  readonly redact?: (text: string) => string;
  /** Starts and records the process. Default: one of its own. */
  readonly processes?: ProcessGroups | undefined;
  /** Receives each line of stderr up to 8 KiB. */
  readonly onStderr?: (line: string) => void;
}

/** A channel to a process. */
export interface StdioChannel extends Channel {
  /** The process id, which is also the process group id. */
  readonly pid: number;
  /** The latest stderr output, up to 64 KiB. */
  readonly stderr: string;
}

const MAX_STDERR_LINE_BYTES = 8 * 1024;
const EXCERPT_LENGTH = 200;
/** How long the process may run after it closed a pipe before the channel fails, in ms. */
const EXIT_GRACE_MS = 1_000;
/** How long the messages of a process that has exited are read, in ms; a descendant may write on. */
const READING_GRACE_MS = 2_000;

/**
 * Starts the process. The era must call `listen` before it sends: messages without a listener are dropped.
 *
 * @throws GatewayError `upstream_unavailable` when the process cannot be started, or the error of a layer that refuses the start.
 */
export async function openStdioChannel(options: StdioOptions): Promise<StdioChannel> {
  const start = await preparedStart(startOf(options), options.startLayers ?? []);
  let group: ProcessGroup;
  try {
    const { processes = new ProcessGroups(), name, graceMs } = options;
    const { command, args, env, cwd, isMonitored = false } = start;
    const spawned = {
      ...{ command, args, cwd, isMonitored },
      env: childEnvironment(env),
      ...(graceMs !== undefined && { graceMs }),
    };
    group = await processes.start(spawned, name);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new GatewayError("upstream_unavailable", "upstream", `${options.name} cannot be started: ${why}`, {
      cause,
      server: options.name,
      retryable: true,
    });
  }
  return new StdioPipeChannel(options, group);
}

/** The start that the config asks for. */
const startOf = ({ name, features = {}, command, args, env, cwd }: StdioOptions): ProcessStart => ({
  ...{ name, features, command, args, env, cwd },
});

class StdioPipeChannel implements StdioChannel {
  readonly association = "pipe";
  readonly pid: number;
  readonly closed: Promise<GatewayError>;
  readonly #options: StdioOptions;
  readonly #group: ProcessGroup;
  readonly #writer: LineWriter;
  readonly #messages: MessageDemultiplexer;
  readonly #lines: MessageReader;
  readonly #recent: RecentOutput;
  /** Why the channel is closed; the first reason is kept. */
  #closeReason: GatewayError | undefined;
  #exitTimer: NodeJS.Timeout | undefined;

  constructor(options: StdioOptions, group: ProcessGroup) {
    this.#options = options;
    this.#recent = new RecentOutput(undefined, options.redact);
    this.#group = group;
    this.#writer = new LineWriter(group.stdin);
    this.#messages = new MessageDemultiplexer(options);
    this.pid = group.pid;
    this.#lines = new MessageReader(
      {
        message: (message) => this.#messages.deliver(message),
        invalid: (line, error) => this.#onInvalid(line, error),
      },
      group.stdout,
    );
    const lines = new LineSplitter({
      line: (bytes) => this.#lines.push(bytes),
      tooLong: () => {
        this.#lines.whenIdle(() => this.#fail(`sent a line longer than ${MAX_LINE_BYTES} bytes`));
        group.kill();
      },
    });
    group.stdout.on("data", (chunk: Buffer) => lines.push(chunk));
    group.stdout.once("end", () => {
      lines.end();
      this.#lines.whenIdle(() => this.#onPipeClosed("closed its output"));
    });
    group.stdin.once("close", () => this.#onPipeClosed("closed its input"));
    this.#readStderr();
    this.closed = group.exited.then(async (exit) => {
      if (this.#lines.isBusy) await withTimeout(READING_GRACE_MS, this.#lines.ended());
      this.#lines.clear();
      return this.#finish(this.#exitMessage(exit));
    });
  }

  get stderr(): string {
    return this.#recent.text;
  }

  // Not async: an async function that returns a promise takes three more microtasks.
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
    await this.#group.unregistered;
  }

  #onInvalid(line: Buffer, error: unknown): void {
    const answered =
      error instanceof FrameError &&
      error.id !== undefined &&
      this.#messages.reject(error.id, invalidResponse(this.#options.name, error));
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

  /** A pipe was closed. The exit usually follows and has the better reason; without it the channel fails. */
  #onPipeClosed(what: string): void {
    this.#exitTimer ??= setTimeout(() => {
      this.#fail(what);
      // `exited` reports the result.
      this.#group.end().catch(() => {});
    }, EXIT_GRACE_MS);
  }

  /** The channel has failed while the process still runs. */
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
    const { startLayers = [] } = this.#options;
    const why = reasonOfEnd(startOf(this.#options), this.#recent.text, startLayers);
    const told = why === undefined ? how : `${how}: ${why}`;
    return words === "" ? told : `${told}; last output: ${words}`;
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
