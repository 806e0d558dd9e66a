/** Which characters are escaped in logs and terminal output? Those that control a terminal, break a line or hide text. */

/**
 * Controls (C0, C1, DEL), format characters (zero-width, bidirectional, tags, byte order mark), and the line
 * and paragraph separators.
 */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** The text with every hidden character as `\uXXXX`; the text of a valid JSON string stays valid. */
export function escapeHidden(text: string): string {
  return text.replace(INVISIBLE, (found) =>
    // JSON escapes characters beyond the first plane as two units.
    Array.from(
      { length: found.length },
      (_, unit) => `\\u${found.charCodeAt(unit).toString(16).padStart(4, "0")}`,
    ).join(""),
  );
}
