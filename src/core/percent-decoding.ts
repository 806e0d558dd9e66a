/** What do lenient URI parsers decode a percent-encoded text to? Byte by byte; invalid escapes are left unchanged. */

/** One escape, or several in a row; `%u0063` is the form of JavaScript's old `unescape`. */
const ESCAPES = /(?:%[0-9a-f]{2})+/gi;
const WIDE_ESCAPE = /%u([0-9a-f]{4})/gi;

/** `text` decoded once. Bytes that are no UTF-8 become U+FFFD, as in Node, Python and browsers. */
export function decodeOnce(text: string): string {
  return text.includes("%") ? text.replace(ESCAPES, (run) => bytesOf(run).toString("utf8")) : text;
}

/**
 * All results of decoding `text` once: in UTF-8; in UTF-8 with invalid bytes dropped, or with overlong forms accepted;
 * in Latin-1; with `%uXXXX` escapes. Nearly always that is one text.
 */
export function decodings(text: string): readonly string[] {
  if (!text.includes("%")) return NONE;
  const decoded = decodeOnce(text);
  const found = [decoded];
  if (decoded.includes("\uFFFD")) {
    found.push(
      decoded.replaceAll("\uFFFD", ""),
      text.replace(ESCAPES, (run) => decodeOverlong(bytesOf(run))),
      text.replace(ESCAPES, (run) => bytesOf(run).toString("latin1")),
    );
  }
  if (/%u[0-9a-f]{4}/i.test(text)) {
    found.push(
      text.replace(WIDE_ESCAPE, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16))),
    );
  }
  return found;
}

const NONE: readonly string[] = [];
const bytesOf = (run: string): Buffer => Buffer.from(run.replaceAll("%", ""), "hex");

/** UTF-8 as decoders before RFC 3629 accepted it: `C0 AE` is a full stop. */
function decodeOverlong(bytes: Buffer): string {
  const parts: string[] = [];
  let from = 0;
  for (let at = 0; at < bytes.length; ) {
    const [length, code] = overlongAt(bytes, at);
    if (length === 0) {
      at += 1;
      continue;
    }
    parts.push(bytes.toString("utf8", from, at), String.fromCodePoint(code));
    at += length;
    from = at;
  }
  return parts.join("") + bytes.toString("utf8", from);
}

/** Length and code point of the overlong form that begins at `at`; a length of 0 where none does. */
function overlongAt(bytes: Buffer, at: number): readonly [length: number, code: number] {
  const first = bytes[at] ?? 0;
  const length = first === 0xc0 || first === 0xc1 ? 2 : first === 0xe0 ? 3 : first === 0xf0 ? 4 : 0;
  if (length === 0) return [0, 0];
  let code = length === 2 ? first & 1 : 0;
  for (let next = 1; next < length; next += 1) {
    const byte = bytes[at + next] ?? 0;
    if ((byte & 0xc0) !== 0x80) return [0, 0];
    code = (code << 6) | (byte & 0x3f);
  }
  const least = length === 2 ? 0x80 : length === 3 ? 0x800 : 0x1_0000;
  return code < least ? [length, code] : [0, 0];
}
