/** Reads a file of `NAME=value` lines, for `envFile`. */

const LINE = /^\s*(?:export\s+)?([A-Za-z_][\w.-]*)\s*=\s*(.*?)\s*$/s;

/** A line that `parseEnvFile` reads as this value, with its line break. */
export function envFileLine(name: string, value: string): string {
  const escaped = value.replace(/["\\]/g, "\\$&").replaceAll("\n", "\\n").replaceAll("\r", "\\r");
  return `${name}="${escaped}"\n`;
}

/**
 * The variables by name; the last one wins. Comments (`#`) and empty lines are ignored; a value may be quoted, and in
 * double quotes `\n` is a line break. Nothing is expanded.
 */
export function parseEnvFile(text: string): Readonly<Record<string, string>> {
  const variables: [string, string][] = [];
  for (const line of text.replace(/^\uFEFF/, "").split(/\r?\n/)) {
    const [, name, value] = LINE.exec(line) ?? [];
    if (name !== undefined && value !== undefined) variables.push([name, unquoted(value)]);
  }
  return Object.fromEntries(variables);
}

function unquoted(value: string): string {
  const [, single] = /^'([^']*)'(?:\s+#.*)?$/.exec(value) ?? [];
  if (single !== undefined) return single;
  const [, double] = /^"((?:[^"\\]|\\.)*)"(?:\s+#.*)?$/s.exec(value) ?? [];
  if (double !== undefined) {
    return double.replace(
      /\\(.)/g,
      (_, escaped: string) => ({ n: "\n", r: "\r", t: "\t" })[escaped] ?? escaped,
    );
  }
  return value.replace(/(?:^|\s+)#.*$/, "");
}
