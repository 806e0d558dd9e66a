/** One JSON document as the whole answer to an HTTP request. */
import type { ServerResponse } from "node:http";

/** Text of so many characters and more is written piece by piece. */
const MAX_JOINED = 16 * 1024 * 1024;

/**
 * Head and body go out in one write. Node's own `end(text)` puts an empty text behind them, and two pieces take a
 * write that gathers (0.7 µs); a flat list of headers is read as it stands, an object is not (0.5 µs).
 */
export function sendJson(
  response: ServerResponse,
  status: number,
  pieces: readonly (string | Buffer)[],
): void {
  // Bytes are never copied; text goes out as one, unless it is longer than a string can be.
  let units = 0;
  for (const piece of pieces) units += typeof piece === "string" ? piece.length : MAX_JOINED;
  const whole = units < MAX_JOINED ? [pieces.join("")] : pieces;
  let length = 0;
  for (const piece of whole) length += Buffer.byteLength(piece);
  response.writeHead(status, ["content-type", "application/json", "content-length", String(length)]);
  response.cork();
  for (const piece of whole) response.write(piece);
  response.uncork();
  response.end();
}
