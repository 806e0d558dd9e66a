/** Makes characters visible that would otherwise steer a terminal, break a line or hide text. */

/**
 * Controls (C0, C1, DEL), format characters (zero-width, bidirectional, tags, byte order mark), and the line
 * and paragraph separators. In a log nothing legitimate is lost by showing them as escapes.
 */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** The text with every hidden character written as `\uXXXX`; what was valid inside a JSON string stays so. */
export function escapeHidden(text: string): string {
  return text.replace(INVISIBLE, (found) =>
    // Those beyond the first plane are two units long, and JSON knows no other way to write them.
    Array.from(
      { length: found.length },
      (_, unit) => `\\u${found.charCodeAt(unit).toString(16).padStart(4, "0")}`,
    ).join(""),
  );
}
