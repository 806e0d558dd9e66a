/** `cardea doctor`: starts each server once and prints what is wrong with it. */
import type { ServerConfig } from "../config/config.js";
import type { MalformedEntry } from "../core/list-entries.js";
import type { ProbeResult } from "../operator/probe.js";
import { escapeHidden } from "../telemetry/log-format.js";
import { type CommandContext, write } from "./command-context.js";
import { type Diagnosis, diagnose } from "./diagnose.js";
import { EXIT } from "./exit.js";
import { type ConfigFlags, type JsonFlag, wantsJson } from "./flags.js";
import { openConfig } from "./open-config.js";

interface Report extends Diagnosis {
  readonly server: string;
  readonly ok: boolean;
  /** The last lines of its stderr, when something is wrong. */
  readonly stderr: readonly string[];
  /** List entries that are left out, as hosts cannot read them. */
  readonly malformed: readonly MalformedEntry[];
}

/** Servers started at the same time; more would make slow ones time out. */
const MAX_CONCURRENT = 4;
const STDERR_LINES = 8;

/** Returns the exit code. */
export async function doctor(flags: ConfigFlags & JsonFlag, shell: CommandContext): Promise<number> {
  const log = await shell.openLog();
  const opened = await openConfig(shell, log, flags.config);
  if (opened === undefined) return EXIT.config;
  const { config } = opened.loaded;
  // A line break in a server's text must not look like the next line of the report.
  const safe = (text: string): string => log.redact(escapeHidden(text));
  const giveUp = new AbortController();
  const interrupted = shell.signals.next().then(() => giveUp.abort());
  const work = mapConcurrently(config.servers, async (server) => {
    const probed = await shell.probe(server, giveUp.signal);
    return report(server, diagnose(server, probed, config), probed, safe);
  });
  await Promise.race([work, interrupted]);
  const reports = await work;
  if (giveUp.signal.aborted) return EXIT.failed;
  const text = wantsJson(flags, shell.env)
    ? `${JSON.stringify(reports, null, 2)}\n`
    : reports.map(asText).join("");
  await write(shell.stdout, text);
  const unhealthy = new Set(reports.filter(({ ok }) => !ok).map(({ server }) => server));
  if (config.servers.some(({ name, required }) => required && unhealthy.has(name))) return EXIT.unavailable;
  return unhealthy.size === 0 ? EXIT.done : EXIT.failed;
}

function report(
  { name }: ServerConfig,
  diagnosis: Diagnosis,
  { stderr, connected }: ProbeResult,
  safe: (text: string) => string,
): Report {
  const ok = diagnosis.cause === "ok";
  return {
    server: name,
    ok,
    cause: diagnosis.cause,
    sentence: safe(diagnosis.sentence),
    ...(diagnosis.advice !== undefined && { advice: safe(diagnosis.advice) }),
    stderr: ok ? [] : stderr.slice(-STDERR_LINES).map(safe),
    malformed: (connected?.malformed ?? []).map(({ name, ...one }) => ({
      ...one,
      ...(name !== undefined && { name: safe(name) }),
      member: safe(one.member),
    })),
  };
}

function asText({ server, ok, sentence, advice, stderr }: Report): string {
  const lines = [
    `${ok ? "ok   " : "WRONG"} ${escapeHidden(server)}: ${sentence}`,
    ...(advice === undefined ? [] : [`      ${advice}`]),
    ...stderr.map((line) => `      | ${line}`),
  ];
  return `${lines.join("\n")}\n`;
}

/** Results in the order of the items, whatever the order in which they came. */
async function mapConcurrently<T, R>(
  items: readonly T[],
  work: (item: T) => Promise<R>,
): Promise<readonly R[]> {
  const results = new Map<number, R>();
  const queue = items.entries();
  const worker = async (): Promise<void> => {
    for (const [index, item] of queue) results.set(index, await work(item));
  };
  await Promise.all(Array.from({ length: MAX_CONCURRENT }, worker));
  return items.flatMap((_, index) => {
    const result = results.get(index);
    return result === undefined ? [] : [result];
  });
}
