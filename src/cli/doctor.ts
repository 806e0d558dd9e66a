/** `cardea doctor`: starts each server once, and prints its problems and the parts of the config that match nothing. */
import type { Advice } from "../config/advice.js";
import { type Config, type ConfiguredServer, isMisconfigured } from "../config/config.js";
import type { Problem } from "../config/problem.js";
import type { GoodConfig } from "../config/read.js";
import { indexOfError } from "../core/error-output.js";
import type { MalformedEntry } from "../core/list-entries.js";
import type { Finding } from "../core/replicas.js";
import { proxyFor } from "../outgoing/proxy.js";
import { escapeHidden } from "../telemetry/log-format.js";
import { type ChannelKinds, kindOf } from "../upstream/supervision/channel-kind.js";
import { refusalToStart } from "./agreement.js";
import { type CommandContext, write } from "./command-context.js";
import { type Diagnosis, diagnose, type Observations } from "./diagnose.js";
import { diagnoseEntry } from "./diagnose-entry.js";
import { EXIT } from "./exit.js";
import { advised, channelsOf } from "./feature.js";
import { type ConfigFlags, type JsonFlag, wantsJson, type YesFlag } from "./flags.js";
import { openConfig } from "./open-config.js";
import type { ProbeNoteLine, ProbeResult } from "./probe.js";
import { type Misfit, runningFacts } from "./running-facts.js";
import { runningText } from "./running-text.js";
import { widthOf } from "./table.js";
import { type Paint, Progress, painter, warningText, writePainted } from "./terminal.js";
import { terminalSafe } from "./terminal-safe.js";

interface Report extends Diagnosis {
  readonly server: string;
  readonly ok: boolean;
  /** The stderr lines that explain a problem, if there is one. */
  readonly stderr: readonly string[];
  /** List entries that are omitted because hosts cannot read them. */
  readonly malformed: readonly MalformedEntry[];
  /** Tools of an HTTP API whose answers did not fit their output schemas at the running gateway; absent without any. */
  readonly misfits?: readonly Misfit[];
  /** The proxy of its requests, without credentials, and what names it. */
  readonly proxy?: string;
}

/** Servers started concurrently; more would cause timeouts of slow ones. */
const MAX_CONCURRENT = 4;
const STDERR_LINES = 8;

/** A server whose entry is wrong is not started. */
const NOT_PROBED: ProbeResult = { stderr: [], nonProtocolOutput: [] };

/**
 * Reports are printed as servers respond; JSON at the end: `{ file, servers, FEATURE?, warnings, running? }`, in config order.
 * Returns the exit code.
 */
export async function doctor(
  flags: ConfigFlags & JsonFlag & YesFlag,
  shell: CommandContext,
): Promise<number> {
  const log = await shell.openLog();
  const json = wantsJson(flags, shell.env);
  const opened = await openConfig(shell, log, flags.config, { logsWarnings: !json, logsProblems: false });
  if (opened === undefined) return EXIT.config;
  const refusal = await refusalToStart(opened, flags, shell, log);
  if (refusal !== undefined) return refusal;
  const { config } = opened.loaded;
  // A line break in a server's text must not imitate the next line of the report.
  const safe = (text: string): string => log.redact(escapeHidden(text));
  const giveUp = new AbortController();
  const interrupted = shell.signals.next().then(() => giveUp.abort());
  const paint = painter(shell.stdout, shell.env);
  const waiting = new Set(config.servers.map(({ name }) => name));
  const progress = new Progress(shell.stderr, shell.env, waitingText(waiting, config));
  const probes = new Map<string, ProbeResult>();
  const channels = channelsOf(shell.features);
  const running = runningFacts(opened.file, shell, log);
  const work = mapConcurrently(config.servers, async (server) => {
    const [found, { misfits }] = await Promise.all([
      isMisconfigured(server) ? NOT_PROBED : shell.probe(server, giveUp.signal, config),
      running,
    ]);
    const probed = { ...found, misfits: misfits.get(server.name) ?? [] };
    probes.set(server.name, probed);
    const diagnosis = isMisconfigured(server)
      ? diagnoseEntry(server)
      : diagnose(server, probed, config, channels);
    const reported = report(server, diagnosis, probed, channels, safe);
    waiting.delete(server.name);
    if (json || giveUp.signal.aborted) return reported;
    progress.clear();
    await writePainted(shell.stdout, asText(server.name, reported, paint, notesOf(probed, safe)));
    progress.update(waitingText(waiting, config));
    return reported;
  });
  await Promise.race([work, interrupted]);
  const reports = await work;
  progress.end();
  if (giveUp.signal.aborted) return EXIT.failed;
  const findings = await safeFindings(config, shell, safe);
  const warnings = await ineffective(opened.loaded, probes, shell, safe);
  if (json) {
    const all = [...opened.loaded.warnings, ...warnings];
    const whole = { file: opened.file, servers: reports, ...findings, warnings: all };
    const { problems } = await running;
    const seen = problems === undefined ? {} : { running: { problems } };
    await write(shell.stdout, `${terminalSafe(JSON.stringify({ ...whole, ...seen }, null, 2))}\n`);
  } else {
    const parts = Object.entries(findings).flatMap(([feature, all]) =>
      all.map((found) => asText(`${feature}: ${found.about}`, found, paint)),
    );
    const lines = warnings.map((warning) => `${warningText(warning, paint)}\n`);
    const seen = runningText((await running).problems, paint, widthOf(shell.stdout));
    await writePainted(shell.stdout, [...parts, ...lines, seen].join(""));
  }
  const unhealthy = new Set(reports.filter(({ ok }) => !ok).map(({ server }) => server));
  if (config.servers.some(({ name, required }) => required && unhealthy.has(name))) return EXIT.unavailable;
  return unhealthy.size === 0 &&
    Object.values(findings)
      .flat()
      .every(({ ok }) => ok)
    ? EXIT.done
    : EXIT.failed;
}

/** What features have found, by their names. */
async function safeFindings(
  config: Config,
  shell: CommandContext,
  safe: (text: string) => string,
): Promise<Readonly<Record<string, readonly Finding[]>>> {
  const all = Object.entries(await shell.findings(config));
  const safely = ({ about, ok, sentence, advice }: Finding): Finding => ({
    ...{ about: safe(about), ok, sentence: safe(sentence) },
    ...(advice !== undefined && { advice: safe(advice) }),
  });
  return Object.fromEntries(all.map(([feature, findings]) => [feature, findings.map(safely)]));
}

const waitingText = (waiting: ReadonlySet<string>, { servers }: Config): string =>
  `${servers.length - waiting.size} of ${servers.length} servers; waiting for ${[...waiting].join(", ")}`;

/** The parts of the config that match nothing, and the advice of features as of `check`. */
async function ineffective(
  { config, problemAt, serverPath }: GoodConfig,
  probes: ReadonlyMap<string, ProbeResult>,
  shell: CommandContext,
  safe: (text: string) => string,
): Promise<readonly Problem[]> {
  const listed = new Map(
    [...probes].flatMap(([name, { connected }]) =>
      connected?.lists === undefined ? [] : [[name, connected.lists] as const],
    ),
  );
  const { ineffectiveSettings } = await import("./ineffective.js");
  const byLists = listed.size === 0 ? [] : await ineffectiveSettings(config, listed, shell.features);
  const ofFeatures: readonly Advice[] = await advised(shell.features, config);
  // The lists tell more about a glob than the servers' prefixes.
  const known = new Set(byLists.map(({ path }) => path.join("\0")));
  const others = ofFeatures.filter(({ path }) => !known.has(path.join("\0")));
  return [...byLists, ...others].map(({ server, path, message }) =>
    server === undefined
      ? problemAt(path, safe(message))
      : problemAt([...serverPath(server), ...path], `server ${JSON.stringify(server)}: ${safe(message)}`),
  );
}

function report(
  { name, transport }: ConfiguredServer,
  diagnosis: Diagnosis,
  { stderr, connected, notes = [], misfits = [] }: Observations,
  channels: ChannelKinds,
  safe: (text: string) => string,
): Report {
  const ok = diagnosis.cause === "ok";
  const proxy = proxyOf(transport, channels);
  return {
    server: name,
    ok,
    cause: diagnosis.cause,
    sentence: safe(diagnosis.sentence),
    ...(diagnosis.advice !== undefined && { advice: safe(diagnosis.advice) }),
    stderr: ok ? [] : tellingLines(stderr).map(safe),
    malformed: (connected?.malformed ?? []).map(({ name, ...one }) => ({
      ...one,
      ...(name !== undefined && { name: safe(name) }),
      member: safe(one.member),
    })),
    ...(proxy !== undefined && { proxy: safe(proxy) }),
    ...(misfits.length > 0 && {
      misfits: misfits.map(({ tool, reason, count }) => ({ tool: safe(tool), reason: safe(reason), count })),
    }),
    ...Object.fromEntries(notes.map((note) => [note.key, note.value(safe)])),
  };
}

/** The proxy in use, as its errors name it; undefined for a direct connection, and for an address that is none. */
function proxyOf(transport: ConfiguredServer["transport"], channels: ChannelKinds): string | undefined {
  if (transport.kind === "stdio" || transport.kind === "unknown") return undefined;
  const url = transport.kind === "http" ? transport.url : kindOf(channels, transport).urlOf(transport);
  if (url === undefined) return undefined;
  try {
    return proxyFor(url, transport.network?.proxy)?.shown;
  } catch {
    return undefined;
  }
}

/** The last lines, or all from the error on if that is earlier. */
function tellingLines(lines: readonly string[]): readonly string[] {
  const error = indexOfError(lines);
  return error === undefined || error >= lines.length - STDERR_LINES
    ? lines.slice(-STDERR_LINES)
    : lines.slice(error, error + STDERR_LINES);
}

/** What features say about a server, before or after what it has written. */
const notesOf =
  ({ notes = [] }: ProbeResult, safe: (text: string) => string) =>
  (isLast: boolean): readonly ProbeNoteLine[] =>
    notes.filter((note) => note.isLast === isLast).flatMap((note) => note.lines(safe));

type Shown = Pick<Report, "ok" | "sentence" | "advice" | "proxy"> & Partial<Pick<Report, "stderr">>;

function asText(
  name: string,
  { ok, sentence, advice, stderr = [], proxy }: Shown,
  paint: Paint,
  notesAt: (isLast: boolean) => readonly ProbeNoteLine[] = () => [],
): string {
  const isPainted = paint("green", "x") !== "x";
  const mark = isPainted ? (ok ? paint("green", "✓") : paint("red", "✗")) : ok ? "ok   " : "WRONG";
  const indent = isPainted ? "    " : "      ";
  const noted = (isLast: boolean): readonly string[] =>
    notesAt(isLast).map(({ text, isBad }) => `${indent}${paint(isBad === true ? "red" : "dim", text)}`);
  const lines = [
    `${mark} ${paint("bold", escapeHidden(name))}: ${escapeHidden(sentence)}`,
    ...(advice === undefined ? [] : [`${indent}${paint(ok ? "yellow" : "bold", advice)}`]),
    ...(proxy === undefined ? [] : [`${indent}${paint("dim", `proxy: ${proxy}`)}`]),
    ...noted(false),
    ...stderr.map((line) => `${indent}${paint("dim", `| ${line}`)}`),
    ...noted(true),
  ];
  return `${lines.join("\n")}\n`;
}

/** Results in the order of the items, not of completion. */
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
