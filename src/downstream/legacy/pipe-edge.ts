/** Serves one legacy session over a pipe, such as the standard streams of the process. */
import { randomUUID } from "node:crypto";
import type { Principal } from "../../core/client.js";
import { badRequest, refusalError } from "../../core/errors.js";
import { ConditionVariable, type StopSignal } from "../../core/stop.js";
import {
  type Batch,
  type Envelope,
  FrameError,
  isRequest,
  messagesIn,
  type Request,
} from "../../wire/envelope.js";
import { lineOf } from "../../wire/lines.js";
import { Payload } from "../../wire/payload.js";
import { edgeError, type Pipe, type PipeEdge } from "../edge.js";
import { BatchAnswers } from "./batch-answers.js";
import { runBatch } from "./batch-run.js";
import { openSession, type SessionOpener } from "./handshake.js";
import {
  errorText,
  frameErrorText,
  type MessageText,
  piecesOf,
  type ResponseSink,
  resultText,
  type SessionSink,
} from "./messages.js";
import { type BackendDependencies, handleNonRequest, serveRequest } from "./serve-request.js";
import type { Session } from "./session.js";

/** The one session of a pipe; it opens with `initialize` and ends with the pipe. */
export class LegacyPipeEdge implements PipeEdge {
  #session: Session | undefined;
  #opening: Promise<void> | undefined;
  #closed = false;
  #inputEnded = false;

  constructor(
    private readonly pipe: Pipe,
    private readonly sessionOpener: SessionOpener,
    private readonly backend: BackendDependencies,
  ) {}

  /**
   * Resolves when a request was answered; at once for everything else. A host that does not wait for the answer
   * to `initialize` is served after it, in its own order.
   */
  async receive(message: Envelope): Promise<void> {
    if (this.#opening !== undefined && !ALLOWED_BEFORE_OPEN.has(message.method)) await this.#opening;
    if (!isRequest(message)) this.#handleNonRequest(message);
    else await this.#serve(message, (text) => this.#write(text));
  }

  /** A batch, as 2025-03-26 had them: answered by one array, or several where that would be too long. */
  async receiveBatch(batch: Batch): Promise<void> {
    await this.#opening;
    const messages = messagesIn(batch);
    if (this.#session?.revision.batches !== true || messages.some(({ method }) => method === "initialize")) {
      return this.#write(errorText(null, refusal("a batch is not possible here")));
    }
    for (const message of messages) if (!isRequest(message)) this.#handleNonRequest(message);
    const answers = new BatchAnswers(
      this.pipe.backlog,
      (text) => this.#write(text),
      () => this.#closed,
    );
    for (const one of batch) if (one instanceof FrameError) answers.add(frameErrorText(one));
    await runBatch(
      messages.filter(isRequest),
      answers,
      (request) => this.#serve(request, (text) => answers.add(text)),
      ({ id }, error) => answers.add(errorText(id, refusalError(error))),
    );
    await answers.finish();
  }

  updatePrincipal(principal: Principal): void {
    this.#session?.updatePrincipal(principal);
  }

  /** A call that waits for an answer is over: it will not come. */
  onInputEnd(): void {
    this.#inputEnded = true;
    this.#session?.questions.close();
  }

  async close(): Promise<void> {
    this.#closed = true;
    if (this.#session !== undefined) this.sessionOpener.store.end(this.#session, "closed");
  }

  #handleNonRequest(message: Envelope): void {
    if (this.#session !== undefined) handleNonRequest(this.#session, message, this.backend.gateway);
  }

  async #serve(request: Request, reply: (text: MessageText) => void): Promise<void> {
    if (this.#session !== undefined) {
      return serveRequest(this.#session, request, this.#responseSink(reply), this.backend);
    }
    if (request.method === "ping") reply(resultText(request.id, Payload.ofObject({})));
    else if (request.method !== "initialize") reply(errorText(request.id, refusal("send initialize first")));
    else if (this.#opening !== undefined)
      reply(errorText(request.id, refusal("initialize was sent already")));
    else {
      this.#opening = this.#initialize(request, reply);
      await this.#opening;
      this.#opening = undefined;
    }
  }

  async #initialize(request: Request, reply: (text: MessageText) => void): Promise<void> {
    try {
      const opened = await openSession(this.sessionOpener, request.params, this.pipe, () => ({
        id: randomUUID(),
        sink: new PipeSessionSink((text) => this.#write(text)),
        isHttp: this.pipe.isHttp === true,
      }));
      if (this.#closed) return this.sessionOpener.store.end(opened.session, "closed");
      this.#session = opened.session;
      if (this.#inputEnded) opened.session.questions.close();
      reply(resultText(request.id, Payload.ofObject(opened.result)));
    } catch (error) {
      reply(errorText(request.id, edgeError(error, request.method, this.backend.logger)));
    }
  }

  /** What is said before a response goes where everything goes. */
  #responseSink(reply: (text: MessageText) => void): ResponseSink {
    let done = false;
    return {
      send: (text) => {
        if (!done) this.#write(text);
        return !done;
      },
      respond: (text) => {
        if (!done) reply(text);
        done = true;
      },
      skipResponse: () => {
        done = true;
      },
    };
  }

  #write(text: MessageText): void {
    if (!this.#closed) this.pipe.send(lineOf(piecesOf(text)));
  }
}

/** What need not wait until the session is open. */
const ALLOWED_BEFORE_OPEN: ReadonlySet<string | undefined> = new Set(["initialize", "ping"]);

/** Everything that belongs to no request, on a pipe; before the client is ready, it is not asked anything. */
class PipeSessionSink implements SessionSink {
  onConnected: SessionSink["onConnected"];
  readonly #stateChange = new ConditionVariable();
  #ready = false;
  #closed = false;

  constructor(private readonly write: (text: MessageText) => void) {}

  get isConnected(): boolean {
    return this.#ready && !this.#closed;
  }

  send(text: MessageText): boolean {
    if (!this.#closed) this.write(text);
    return !this.#closed;
  }

  markReady(): void {
    this.#ready = true;
    this.#stateChange.notifyAll();
    this.onConnected?.();
  }

  async waitUntilConnected(waitMs: number, signal: StopSignal): Promise<boolean> {
    if (!this.#ready && !this.#closed) await this.#stateChange.wait(waitMs, signal);
    return this.isConnected;
  }

  close(): void {
    this.#closed = true;
    this.#stateChange.notifyAll();
  }
}

const refusal = (sentence: string) => refusalError(badRequest(sentence));
