/** `GET /api/v1/calls/stream`: each call as it ends, as server-sent events. */
import type { ServerResponse } from "node:http";

/** Where the calls come from. */
export interface CallFeed {
  /**
   * Calls `listener`, which does not throw, with each finished call that matches the query, in the form of `shownCall`,
   * until the returned function is called. @throws BadQuery
   */
  follow(query: URLSearchParams, listener: (row: object) => void): () => void;
}

/** Buffered rows of a slow client; beyond this the oldest are dropped. */
const MAX_WAITING = 200;
/** Interval of keep-alive comments, in ms. */
const KEEP_ALIVE_MS = 15_000;
const MAX_STREAMS = 32;

/** The open streams of one listener. */
export class CallStreams {
  readonly #feed: CallFeed;
  readonly #write: (row: object) => string;
  #open = 0;

  /** `write`: a row as JSON, redacted. */
  constructor(feed: CallFeed, write: (row: object) => string) {
    this.#feed = feed;
    this.#write = write;
  }

  get isFull(): boolean {
    return this.#open >= MAX_STREAMS;
  }

  /**
   * Streams to `response` until the client or the listener closes the connection. @throws BadQuery before anything is
   * written
   */
  serve(query: URLSearchParams, response: ServerResponse, headers: Readonly<Record<string, string>>): void {
    const waiting: object[] = [];
    let lost = 0;
    const flush = (): void => {
      if (lost > 0 && !response.writableNeedDrain) {
        response.write(`event: lost\ndata: {"lost":${lost}}\n\n`);
        lost = 0;
      }
      while (!response.writableNeedDrain) {
        const row = waiting.shift();
        if (row === undefined) return;
        response.write(`event: call\ndata: ${this.#write(row)}\n\n`);
      }
    };
    const unfollow = this.#feed.follow(query, (row) => {
      waiting.push(row);
      if (waiting.length > MAX_WAITING) {
        waiting.shift();
        lost += 1;
      }
      flush();
    });
    this.#open += 1;
    response.writeHead(200, { ...headers, "content-type": "text/event-stream", "x-accel-buffering": "no" });
    response.write(": calls as they end\n\n");
    const keepAlive = setInterval(() => {
      if (!response.writableNeedDrain) response.write(":\n\n");
    }, KEEP_ALIVE_MS);
    keepAlive.unref();
    response.on("drain", flush);
    response.once("close", () => {
      this.#open -= 1;
      clearInterval(keepAlive);
      unfollow();
    });
  }
}
