/** Which documents are in the lines of a host on a pipe? Long lines are read in steps. */
import { isUtf8 } from "node:buffer";
import type { Steps } from "../runtime/cooperative-yield.js";
import { DocumentQueue, type DocumentSource } from "../runtime/document-queue.js";
import {
  type Batch,
  type Envelope,
  FrameError,
  parseDocument,
  parseDocumentInSteps,
} from "../wire/envelope.js";
import { exceedsDepth, MAX_DEPTH, NestedTooDeep } from "../wire/json-scan.js";
import { checkHostLengths } from "../wire/length-limits.js";

/** Receives what the lines hold. */
export interface HostLinesSink {
  document(document: Envelope | Batch): void;
  invalid(error: FrameError): void;
}

/** The lines of one host, in their order. */
export class HostLines extends DocumentQueue {
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
