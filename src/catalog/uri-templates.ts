/**
 * Whether a URI could match a URI template (RFC 6570), in linear time; a false positive is possible, a false
 * negative is not.
 */

/**
 * Compares the literal pieces only: they must stand in the URI in the template's order, the first at its
 * start and the last at its end. Expressions count as any run of characters, the empty one too.
 */
export function couldExpandTo(template: string, uri: string): boolean {
  const pieces = template.split(/\{[^{}]*\}/);
  const [first = "", ...rest] = pieces;
  const last = rest.pop();
  if (last === undefined) return uri === first;
  if (!uri.startsWith(first) || !uri.endsWith(last) || uri.length < first.length + last.length) return false;
  let at = first.length;
  const end = uri.length - last.length;
  for (const piece of rest) {
    // The leftmost place leaves the most room for what follows, so there is no need to try another.
    const found = uri.indexOf(piece, at);
    if (found < 0 || found + piece.length > end) return false;
    at = found + piece.length;
  }
  return at <= end;
}
