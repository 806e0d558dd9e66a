/** Serves one legacy session over a pipe, such as the standard streams of the process. */

import { randomUUID } from "node:crypto";
import type { Principal } from "../../core/client.js";
import { GatewayError } from "../../core/errors.js";
import { refusalError } from "../../core/refusal.js";
import type { StopSignal } from "../../core/stop.js";
import {
  type Batch,
  type Envelope,
  FrameError,
  isNotification,
  isRequest,
  messagesIn,
  type Request,
} from "../../wire/envelope.js";
import { Payload } from "../../wire/payload.js";
import type { Pipe, PipeEdge } from "../edge.js";
import { Gate } from "./gate.js";
import { hearNotification } from "./hear-notification.js";
import { type Opener, openSession } from "./open-session.js";
import type { General, Place } from "./place.js";
import { type Behind, faultText, serveRequest } from "./serve-request.js";
import type { Session } from "./session.js";
import { arrayOf, errorText, frameErrorText, oneLine, resultText, type Text } from "./text.js";

export class LegacyPipeEdge implements PipeEdge {
  #session: Session | undefined;
  #opening: Promise<void> | undefined;
  #closed = false;
  #deaf = false;

  constructor(
    private readonly pipe: Pipe,
    private readonly opener: Opener,
    private readonly behind: Behind,
  ) {}

  /**
   * Resolves when a request was answered; at once for everything else. A host that does not wait for the answer
   * to `initialize` is served after it, in its own order.
   */
  async receive(message: Envelope): Promise<void> {
    if (this.#opening !== undefined && !BEFORE_OPEN.has(message.method)) await this.#opening;
    if (!isRequest(message)) this.#hear(message);
    else await this.#serve(message, (text) => this.#write(text));
  }

  /** A batch, as 2025-03-26 had them: answered by one array. */
  async receiveBatch(batch: Batch): Promise<void> {
    await this.#opening;
    const messages = messagesIn(batch);
    if (this.#session?.revision.batches !== true || messages.some(({ method }) => method === "initialize")) {
      return this.#write(errorText(null, refusal("a batch is not possible here")));
    }
    for (const message of messages) if (!isRequest(message)) this.#hear(message);
    const replies: Text[] = batch.flatMap((one) => (one instanceof FrameError ? [frameErrorText(one)] : []));
    await Promise.all(
      messages.filter(isRequest).map((request) => this.#serve(request, (text) => replies.push(text))),
    );
    if (replies.length > 0) this.#write(arrayOf(replies));
  }

  actFor(principal: Principal): void {
    this.#session?.actFor(principal);
  }

  /** A call that waits for an answer is over: it will not come. */
  inputEnded(): void {
    this.#deaf = true;
    this.#session?.questions.close();
  }

  async close(): Promise<void> {
    this.#closed = true;
    if (this.#session !== undefined) this.opener.store.end(this.#session, "closed");
  }

  #hear(message: Envelope): void {
    if (this.#session === undefined) return;
    if (isNotification(message)) hearNotification(this.#session, message, this.behind.port);
    else this.#session.questions.answer(message);
  }

  async #serve(request: Request, reply: (text: Text) => void): Promise<void> {
    if (this.#session !== undefined) {
      return serveRequest(this.#session, request, this.#place(reply), this.behind);
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

  async #initialize(request: Request, reply: (text: Text) => void): Promise<void> {
    try {
      const opened = await openSession(this.opener, request.params, this.pipe, () => ({
        id: randomUUID(),
        general: new PipeGeneral((text) => this.#write(text)),
      }));
      if (this.#closed) return this.opener.store.end(opened.session, "closed");
      this.#session = opened.session;
      if (this.#deaf) opened.session.questions.close();
      reply(resultText(request.id, Payload.ofObject(opened.result)));
    } catch (error) {
      reply(
        error instanceof GatewayError
          ? errorText(request.id, refusalError(error))
          : faultText(request.id, request.method, error, this.behind.logger),
      );
    }
  }

  /** What is said before a response goes where everything goes. */
  #place(reply: (text: Text) => void): Place {
    let done = false;
    return {
      say: (text) => {
        if (!done) this.#write(text);
        return !done;
      },
      reply: (text) => {
        if (!done) reply(text);
        done = true;
      },
      withdraw: () => {
        done = true;
      },
    };
  }

  #write(text: Text): void {
    if (!this.#closed) this.pipe.send(oneLine(text));
  }
}

/** What need not wait until the session is open. */
const BEFORE_OPEN: ReadonlySet<string | undefined> = new Set(["initialize", "ping"]);

/** Everything that belongs to no request, on a pipe; before the client is ready, it is not asked anything. */
class PipeGeneral implements General {
  readonly #gate = new Gate();
  #ready = false;
  #closed = false;

  constructor(private readonly write: (text: Text) => void) {}

  get isHeard(): boolean {
    return this.#ready && !this.#closed;
  }

  say(text: Text): boolean {
    if (!this.#closed) this.write(text);
    return !this.#closed;
  }

  begin(): void {
    this.#ready = true;
    this.#gate.wake();
  }

  async listening(waitMs: number, signal: StopSignal): Promise<boolean> {
    if (!this.#ready && !this.#closed) await this.#gate.wait(waitMs, signal);
    return this.isHeard;
  }

  close(): void {
    this.#closed = true;
    this.#gate.wake();
  }
}

const refusal = (sentence: string) => refusalError(new GatewayError("bad_request", "downstream", sentence));
