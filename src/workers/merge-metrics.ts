/** Makes one text of the metrics of several processes: counts are added up, states are the worst of them. */

/** Gauges that are no amounts; everything else is a sum. */
const MERGE_FUNCTIONS: Readonly<Record<string, (a: number, b: number) => number>> = {
  cardea_upstream_up: Math.min,
  cardea_circuit_state: Math.max,
  cardea_build_info: Math.max,
  cardea_config_last_reload_successful: Math.min,
  cardea_overload_level: Math.max,
  // Each process looks at the same list of them.
  cardea_orphaned_processes: Math.max,
  nodejs_version_info: Math.max,
  process_start_time_seconds: Math.min,
};
/** Of these the largest is told: how late the slowest event loop is, and what each process may open. */
const MAXIMA = /^nodejs_eventloop_lag|^process_max_fds$/;

interface Family {
  readonly comments: readonly string[];
  /** By name and labels. */
  readonly samples: Map<string, number>;
}

/** @param texts in the format that Prometheus scrapes */
export function mergeMetrics(texts: readonly string[]): string {
  const families = new Map<string, Family>();
  for (const text of texts) for (const family of read(text)) add(families, ...family);
  return textOf([...families.values()]);
}

/** What of a text only ever grows: what was counted stays counted, also when who counted it has ended. */
export function monotonicSeriesOf(text: string): string {
  const counts = [...read(text)].filter(([, { comments }]) =>
    comments.some((comment) => /^# TYPE \S+ (counter|histogram)$/.test(comment)),
  );
  return textOf(counts.map(([, family]) => family));
}

const textOf = (families: readonly Family[]): string =>
  families
    .flatMap(({ comments, samples }) => [
      ...comments,
      ...[...samples].map(([series, value]) => `${series} ${value}`),
    ])
    .join("\n")
    .concat("\n");

function add(families: Map<string, Family>, name: string, { comments, samples }: Family): void {
  const known = families.get(name);
  if (known === undefined) {
    families.set(name, { comments, samples });
    return;
  }
  const together = MERGE_FUNCTIONS[name] ?? (MAXIMA.test(name) ? Math.max : (a: number, b: number) => a + b);
  for (const [series, value] of samples) {
    const before = known.samples.get(series);
    known.samples.set(series, before === undefined ? value : together(before, value));
  }
}

/** Each family of a text: its name, its comments (`# HELP`, `# TYPE`) and its samples. */
function* read(text: string): Generator<readonly [string, Family]> {
  let comments: string[] = [];
  let samples = new Map<string, number>();
  let name = "";
  for (const line of text.split("\n")) {
    if (line.startsWith("#")) {
      const of = line.split(" ", 3)[2] ?? "";
      if (of !== name) {
        if (name !== "") yield [name, { comments, samples }];
        [name, comments, samples] = [of, [], new Map()];
      }
      comments.push(line);
    } else if (line !== "") {
      // A label may hold a space; a value cannot.
      const at = line.lastIndexOf(" ");
      samples.set(line.slice(0, at), Number(line.slice(at + 1)));
    }
  }
  if (name !== "") yield [name, { comments, samples }];
}
