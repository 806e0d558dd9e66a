/**
 * In which format does a scraper get the metrics? OpenMetrics 1.0 where it asks for it, with exemplars: the trace of a call that fell
 * into a bucket. Else the text format of Prometheus, which has none. Inside the gateway the text of Prometheus carries them.
 */

const PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8";
const OPEN_METRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/** In `Accept`: asks for the form with exemplars. */
export const ACCEPT_OPEN_METRICS = "application/openmetrics-text";
/** Its range in an `Accept` header, unless it is refused there. */
const ACCEPTED =
  /(?:^|,)\s*application\/openmetrics-text\s*(?:;(?!\s*q=0(?:\.0*)?\s*(?:,|$))[^,;]*)*(?:,|$)/i;

const TOTAL = "_total";
const EOF = "# EOF";
/** As `exemplarOf` writes it; a label value has no quotation mark that is not escaped. */
const EXEMPLAR = / # \{trace_id="[0-9a-f]{32}"\} \S+ \S+$/;

/** The end of a line of a bucket. `seconds`: the value; `at`: seconds since 1970. */
export const exemplarOf = (traceId: string, seconds: number, at: number): string =>
  ` # {trace_id="${traceId}"} ${seconds} ${at}`;

/** A line without its exemplar, and the exemplar as `exemplarOf` wrote it. */
export function splitExemplar(line: string): readonly [sample: string, exemplar: string] {
  const exemplar = EXEMPLAR.exec(line)?.[0] ?? "";
  return [exemplar === "" ? line : line.slice(0, -exemplar.length), exemplar];
}

/** The metrics as a scraper with this `Accept` header gets them. `text`: that of Prometheus, with exemplars. */
export function negotiatedMetrics(
  text: string,
  accept: string | undefined,
): { readonly text: string; readonly contentType: string } {
  return ACCEPTED.test(accept ?? "")
    ? { text: toOpenMetrics(text), contentType: OPEN_METRICS }
    : { text: withoutExemplars(text), contentType: PROMETHEUS };
}

const withoutExemplars = (text: string): string =>
  text.includes(" # {")
    ? text
        .split("\n")
        .map((line) => splitExemplar(line)[0])
        .join("\n")
    : text;

/** The name of a counter's family ends before `_total`, there are no empty lines, and the end is marked. */
function toOpenMetrics(text: string): string {
  const lines = text.split("\n").filter((line) => line !== "");
  return [...renamedFamilies(lines, (name) => name.slice(0, -TOTAL.length)), EOF, ""].join("\n");
}

/** The text of Prometheus, with exemplars, of what `negotiatedMetrics` wrote in either format. */
export function fromOpenMetrics(text: string): string {
  if (!text.trimEnd().endsWith(EOF)) return text;
  const lines = text.split("\n").filter((line) => line !== EOF);
  return renamedFamilies(lines, (name) => `${name}${TOTAL}`).join("\n");
}

const HELP = /^# HELP (\S+) /;
const COUNTER = /^# TYPE (\S+) counter$/;

/** With the names of counters changed in the comments; `# HELP` stands before `# TYPE`. */
function renamedFamilies(lines: readonly string[], rename: (name: string) => string): readonly string[] {
  return lines.map((line, at) => {
    if (!line.startsWith("# ")) return line;
    const named = HELP.test(line) ? COUNTER.exec(lines[at + 1] ?? "") : COUNTER.exec(line);
    const name = named?.[1];
    return name === undefined ? line : line.replace(name, rename(name));
  });
}
