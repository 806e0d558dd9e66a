/** Server-sent events written as text, so that nothing in them can end a line or an event of its own accord. */

export interface SseEvent {
  readonly id?: string | undefined;
  /** `undefined` stands for `message`. */
  readonly event?: string | undefined;
  readonly data: string;
}

/**
 * One event as text. Line breaks in `data` become lines of data; in `id` and `event`, where they would begin
 * a field of the writer's own choosing, they are refused.
 *
 * @throws TypeError when `id` or `event` cannot be written.
 */
export function formatEvent(event: SseEvent): string {
  const head =
    (event.id === undefined ? "" : field("id", event.id)) +
    (event.event === undefined ? "" : field("event", event.event));
  // JSON text has no line breaks, so this is the ordinary case.
  if (!event.data.includes("\n") && !event.data.includes("\r")) return `${head}data: ${event.data}\n\n`;
  return `${head}${linesOf(event.data)
    .map((line) => `data: ${line}\n`)
    .join("")}\n`;
}

/** A comment, which readers ignore; it keeps a quiet connection open. */
export function formatComment(text = ""): string {
  return `${linesOf(text)
    .map((line) => `: ${line}\n`)
    .join("")}\n`;
}

function field(name: "id" | "event", value: string): string {
  if (/[\r\n\0]/.test(value)) throw new TypeError(`the ${name} of an event must be one line`);
  return `${name}: ${value}\n`;
}

function linesOf(text: string): string[] {
  return text.split(/\r\n|\r|\n/);
}
