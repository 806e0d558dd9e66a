/** How are server-sent events written, so that no value can inject a line or an event? */

/** One event. */
export interface SseEvent {
  readonly id?: string | undefined;
  /** `undefined` stands for `message`. */
  readonly event?: string | undefined;
  readonly data: string;
}

/**
 * One event as text. Line breaks in `data` become several `data` lines; in `id` and `event` they are refused, because
 * they would inject fields.
 *
 * @throws TypeError when `id` or `event` cannot be written.
 */
export function formatEvent(event: SseEvent): string {
  const head =
    (event.id === undefined ? "" : field("id", event.id)) +
    (event.event === undefined ? "" : field("event", event.event));
  // The fast path: JSON text has no line breaks.
  if (!event.data.includes("\n") && !event.data.includes("\r")) return `${head}data: ${event.data}\n\n`;
  return `${head}${linesOf(event.data)
    .map((line) => `data: ${line}\n`)
    .join("")}\n`;
}

/** A comment, which clients ignore; used as keep-alive. */
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
