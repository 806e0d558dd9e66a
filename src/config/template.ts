/** A text of a config in parts: what is meant as it stands, and variables. Foreign text becomes one by `literal`. */

/** Literal text, or a variable as it stands between `${` and `}`. */
export type Piece = string | { readonly variable: string };

/** A variable, the escape `$${` for a `${` that is meant as it stands, or `${$}` for a `$` before a variable. */
export const VARIABLE = /\$\$\{|\$\{([^}]*)\}?/g;
export const DOLLAR = "$";

/** The text that a config expands to these parts, whatever characters they have. */
export function writeTemplate(pieces: readonly Piece[]): string {
  const merged = mergeLiterals(pieces);
  return merged
    .map((piece, at) => {
      if (typeof piece !== "string") return `\${${piece.variable}}`;
      const [, body = "", dollars = ""] = /^(.*?)(\$*)$/s.exec(piece) ?? [];
      const isLast = at === merged.length - 1;
      const end = isLast ? dollars : `\${${DOLLAR}}`.repeat(dollars.length);
      return body.replaceAll("${", () => "$${") + end;
    })
    .join("");
}

/** The text that a config expands to `text`. */
export const literal = (text: string): string => writeTemplate([text]);

/** The parts of a text of a config. A variable without its `}` is literal. */
export function parseTemplate(text: string): readonly Piece[] {
  const pieces: Piece[] = [];
  let from = 0;
  for (const { 0: found, 1: variable, index } of text.matchAll(VARIABLE)) {
    pieces.push(text.slice(from, index));
    from = index + found.length;
    if (variable === undefined) pieces.push("${");
    else if (!found.endsWith("}")) pieces.push(found);
    else pieces.push(variable === DOLLAR ? DOLLAR : { variable });
  }
  return mergeLiterals([...pieces, text.slice(from)]);
}

/** The variables of all texts in a value, as they stand between their braces. */
export function variablesIn(value: unknown): readonly string[] {
  if (typeof value === "string")
    return parseTemplate(value).flatMap((piece) => (typeof piece === "string" ? [] : [piece.variable]));
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(variablesIn);
}

/** A copy of a value whose texts have other parts in place of some variables. */
export function replaceVariables(
  value: unknown,
  replace: (variable: string) => readonly Piece[] | undefined,
): unknown {
  if (typeof value === "string") {
    const pieces = parseTemplate(value).flatMap((piece) =>
      typeof piece === "string" ? [piece] : (replace(piece.variable) ?? [piece]),
    );
    return writeTemplate(pieces);
  }
  if (Array.isArray(value)) return value.map((item) => replaceVariables(item, replace));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, replaceVariables(inner, replace)]),
  );
}

function mergeLiterals(pieces: readonly Piece[]): readonly Piece[] {
  const merged: Piece[] = [];
  for (const piece of pieces) {
    const last = merged.at(-1);
    if (piece === "") continue;
    if (typeof piece === "string" && typeof last === "string") merged[merged.length - 1] = last + piece;
    else merged.push(piece);
  }
  return merged;
}
