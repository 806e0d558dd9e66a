/** What waits in a stream to be read. */
import type { Readable } from "node:stream";

/** Reads it, as text. Newer versions of Node give one chunk at a time, older ones all at once. */
export function unread(stream: Pick<Readable, "read">): string {
  const next = () => stream.read() as Buffer | string | null;
  let text = "";
  for (let chunk = next(); chunk !== null; chunk = next()) text += chunk.toString();
  return text;
}
