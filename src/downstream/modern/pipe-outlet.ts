/** The place of one request on a pipe that it shares with others. */

import { GatewayError } from "../../core/errors.js";
import { Stop, type StopSignal } from "../../core/stop.js";
import type { Pipe } from "../edge.js";
import { oneLine } from "./event-stream.js";
import type { Outlet } from "./outlet.js";
import type { Response } from "./write-reply.js";

export class PipeOutlet implements Outlet {
  readonly #gone = new Stop();
  #over = false;

  constructor(
    private readonly pipe: Pipe,
    /** Called once, when nothing more will be sent. */
    private readonly done: () => void,
  ) {}

  get signal(): StopSignal {
    return this.#gone.signal;
  }

  send(message: string): void {
    if (!this.#over) this.pipe.send(oneLine(message));
  }

  answer(response: Response): void {
    if (this.#over) return;
    this.#end();
    this.pipe.send(oneDocument(response));
  }

  /** The client gave up: what runs for it is aborted, and there will be no answer. */
  cancel(why: string): void {
    if (this.#over) return;
    this.#end();
    this.#gone.abort(new GatewayError("cancelled", "downstream", why));
  }

  #end(): void {
    this.#over = true;
    this.done();
  }
}

/** All pieces as one document on one line; a pipe takes a message in one write. */
export function oneDocument({ pieces }: Response): string | Buffer {
  if (pieces.every((piece) => typeof piece === "string")) return oneLine(pieces.join(""));
  return oneLine(
    Buffer.concat(pieces.map((piece) => (typeof piece === "string" ? Buffer.from(piece) : piece))),
  );
}
