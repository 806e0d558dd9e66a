/** Server-sent events over `fetch`, which unlike EventSource can send a token. */

/** One event. */
export interface ServerEvent {
  /** `message` if the stream names none. */
  readonly name: string;
  readonly data: string;
}

/** Reads events until the stream ends. @throws TypeError if the connection is lost */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      rest += done ? decoder.decode() : decoder.decode(value, { stream: true });
      const blocks = rest.split(/\r?\n\r?\n/);
      rest = blocks.pop() ?? "";
      for (const block of blocks) {
        const event = eventOf(block);
        if (event !== undefined) yield event;
      }
      if (done) return;
    }
  } finally {
    // A reader that stops early must close the connection.
    await reader.cancel().catch(() => {});
  }
}

/** The event of a block of lines; undefined if it only has comments. */
function eventOf(block: string): ServerEvent | undefined {
  let name = "message";
  const data: string[] = [];
  for (const line of block.split(/\r?\n/)) {
    if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
    else if (line.startsWith("event:")) name = line.slice(6).trim();
  }
  return data.length === 0 ? undefined : { name, data: data.join("\n") };
}
