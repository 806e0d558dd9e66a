/** What waits in a stream to be read. */
import type { Readable } from "node:stream";

/** Reads it, as text. Newer versions of Node give one chunk at a time, older ones all at once. */
export function unread(stream: Pick<Readable, "read">): string {
  let text = "";
  for (let chunk: unknown = stream.read(); chunk !== null; chunk = stream.read()) text += String(chunk);
  return text;
}
