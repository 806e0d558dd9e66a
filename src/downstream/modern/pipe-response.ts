/** The place of one request on a pipe that it shares with others. */

import { GatewayError } from "../../core/errors.js";
import { Stop, type StopSignal } from "../../core/stop.js";
import type { Pipe } from "../edge.js";
import { oneLine } from "./event-stream.js";
import type { ResponseSink } from "./response-sink.js";
import type { SerializedResponse } from "./write-reply.js";

export class PipeResponse implements ResponseSink {
  readonly #stop = new Stop();
  #ended = false;

  constructor(
    private readonly pipe: Pipe,
    /** Called once, when nothing more will be sent. */
    private readonly onDone: () => void,
  ) {}

  get signal(): StopSignal {
    return this.#stop.signal;
  }

  send(message: string): void {
    if (!this.#ended) this.pipe.send(oneLine(message));
  }

  respond(response: SerializedResponse): void {
    if (this.#ended) return;
    this.#end();
    this.pipe.send(oneDocument(response));
  }

  /** The client gave up: what runs for it is aborted, and there will be no answer. */
  cancel(reason: string): void {
    if (this.#ended) return;
    this.#end();
    this.#stop.abort(new GatewayError("cancelled", "downstream", reason));
  }

  #end(): void {
    this.#ended = true;
    this.onDone();
  }
}

/** All pieces as one document on one line; a pipe takes a message in one write. */
export function oneDocument({ pieces }: SerializedResponse): string | Buffer {
  if (pieces.every((piece) => typeof piece === "string")) return oneLine(pieces.join(""));
  return oneLine(
    Buffer.concat(pieces.map((piece) => (typeof piece === "string" ? Buffer.from(piece) : piece))),
  );
}
