/** The questions one client was asked and has not answered yet, by the ids of their requests. */
import { invalidParams, responseFault } from "../../core/check-params.js";
import { GatewayError, refusalError } from "../../core/errors.js";
import type { StopSignal } from "../../core/stop.js";
import type { Envelope, MessageId, RpcError } from "../../wire/envelope.js";
import type { JsonObject } from "../../wire/json.js";
import { type MessageSink, noticeText, requestText } from "./messages.js";

/** What the client made of a question. */
export type QuestionResponse =
  | { readonly kind: "result"; readonly result: JsonObject }
  | { readonly kind: "error"; readonly error: RpcError };

/** Limits of the questions of one session. */
export interface QuestionLimits {
  /** Time limit (ms) for the answer to a question that is sent now. */
  readonly answerMs: () => number;
  /** Questions that may be open at once in one session. */
  readonly maxOpen: number;
}

interface OpenQuestion {
  settle(answer: QuestionResponse): void;
  fail(error: GatewayError): void;
}

/** The requests that the gateway sends to one client. */
export class Questions {
  /** Most sessions never ask anything. */
  #open: Map<MessageId, OpenQuestion> | undefined;
  #lastId = 0;
  #closed = false;

  constructor(private readonly limits: QuestionLimits) {}

  get size(): number {
    return this.#open?.size ?? 0;
  }

  /**
   * Sends a request to the client and resolves to its response.
   *
   * @throws GatewayError `cancelled` (the signal, or the session ended: the client is notified), `timed_out`,
   * `overloaded`.
   */
  async send(
    method: string,
    params: JsonObject | undefined,
    sink: MessageSink,
    signal: StopSignal,
  ): Promise<QuestionResponse> {
    if (this.#closed || signal.aborted) throw cancelled();
    if (this.size >= this.limits.maxOpen) {
      throw new GatewayError("overloaded", "downstream", "too many questions are open in this session");
    }
    this.#open ??= new Map();
    const open = this.#open;
    this.#lastId += 1;
    const id = this.#lastId;
    const answerMs = this.limits.answerMs();
    return new Promise<QuestionResponse>((resolve, reject) => {
      const over = () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", aborted);
        open.delete(id);
      };
      const cancel = (error: GatewayError, reason: string) => {
        over();
        sink.send(noticeText("notifications/cancelled", { requestId: id, reason }));
        reject(error);
      };
      const aborted = () => cancel(cancelled(), cancelReason(signal));
      const late = () => cancel(timedOut(answerMs), "no answer in time");
      const timer = setTimeout(late, answerMs);
      const settle = (answer: QuestionResponse) => {
        over();
        resolve(answer);
      };
      const fail = (error: GatewayError) => {
        over();
        reject(error);
      };
      signal.addEventListener("abort", aborted);
      open.set(id, { settle, fail });
      if (!sink.send(requestText(id, method, params))) fail(noStreamError());
    });
  }

  /** Hands a response to the question it answers; false when there is none (any longer) with that very id. */
  onResponse(message: Envelope): boolean {
    const open = message.id === undefined ? undefined : this.#open?.get(message.id);
    if (open === undefined) return false;
    const fault = responseFault(message);
    if (fault !== undefined) open.settle({ kind: "error", error: refusalError(invalidParams(fault)) });
    else if (message.error !== undefined) open.settle({ kind: "error", error: message.error });
    else open.settle({ kind: "result", result: message.result ?? {} });
    return true;
  }

  /** The session is over, or its host sends nothing more: every open question fails, and every later one. */
  close(): void {
    this.#closed = true;
    for (const open of this.#open?.values() ?? []) open.fail(cancelled());
  }
}

const cancelReason = ({ reason }: StopSignal): string =>
  reason instanceof GatewayError ? reason.message : "the call it belonged to was cancelled";

const cancelled = () =>
  new GatewayError("cancelled", "downstream", "the question was cancelled before the client answered it");

const timedOut = (ms: number) =>
  new GatewayError(
    "timed_out",
    "downstream",
    `the client did not answer a question within ${Math.round(ms / 1000)} s`,
  );

/** The error (`timed_out`) where the client has no stream for a question. */
export const noStreamError = () =>
  new GatewayError("timed_out", "downstream", "the client has no open stream to ask it on");
