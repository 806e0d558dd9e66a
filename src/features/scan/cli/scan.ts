/** `cardea scan`: prints what the definitions of servers say that they should not. */
import { basename, extname, resolve } from "node:path";
import { type CommandContext, write } from "../../../cli/command-context.js";
import { EXIT, UsageError } from "../../../cli/exit.js";
import {
  type ConfigFlags,
  type GatewayFlags,
  gatewayOptions,
  isFlagSet,
  type JsonFlag,
  wantsJson,
  type YesFlag,
} from "../../../cli/flags.js";
import { packageVersion } from "../../../cli/help.js";
import { terminalSafe } from "../../../cli/terminal-safe.js";
import { progressTo, warnMissing, withGateway } from "../../../cli/with-gateway.js";
import { readErrorMessage, readTextFile } from "../../../config/text-file.js";
import { parseJson, writeJson } from "../../../wire/json-text.js";
import type { ScanReport } from "../admin.js";
import { definitionsIn, NoDefinitions } from "../definitions.js";
import { type Finding, isAtLeast, RULES_PAGE, SEVERITIES, type Severity } from "../finding.js";
import { scanned } from "../open-feature.js";
import { DEFAULT_SEVERITY, scanSettings } from "../section.js";
import { sarifOf } from "./sarif.js";

/** The flags of `scan` alone. */
export interface ScanFlags {
  readonly sarif?: boolean;
  readonly minSeverity?: string;
}

/** The largest file of definitions (bytes). */
const MAX_FILE_BYTES = 64 * 1024 * 1024;

/** Scans the servers of the config, or the definitions in `file`. Returns the exit code. */
export async function scan(
  file: string | undefined,
  flags: ConfigFlags & JsonFlag & GatewayFlags & YesFlag & ScanFlags,
  shell: CommandContext,
): Promise<number> {
  const form = formOf(flags, shell.env);
  const asked = leastOf(flags, shell.env);
  const finish = async (report: ScanReport, artifact: string, ofFile = DEFAULT_SEVERITY): Promise<number> => {
    const least = asked ?? ofFile;
    await write(shell.stdout, `${textOf(report, { form, artifact, version: packageVersion() })}\n`);
    return report.findings.some(({ severity }) => isAtLeast(severity, least)) ? EXIT.found : EXIT.done;
  };
  if (file !== undefined) {
    const { url } = gatewayOptions(flags, shell.env);
    if (url !== undefined) throw new UsageError("--url asks a running gateway, which reads no FILE");
    const definitions = await definitionsFrom(file, shell);
    if (definitions !== undefined) return finish(await scanned(definitions), file);
  }
  const config = file ?? flags.config;
  return withGateway(
    { flags: { ...flags, ...(config !== undefined && { config }) }, shell, startsAll: true },
    async (gateway, log, opened) => {
      const report = (await gateway.page("scan", undefined, progressTo(log))) as ScanReport;
      const ofFile = scanSettings({}, opened?.features ?? {})?.minSeverity;
      const code = await finish(report, opened?.file ?? "cardea.json", ofFile);
      const isWhole = !warnMissing(log, await gateway.missing());
      return code === EXIT.done && !isWhole ? EXIT.failed : code;
    },
  );
}

/** Undefined for a file that is no JSON with definitions: it is a config. @throws UsageError if it cannot be read */
async function definitionsFrom(file: string, shell: CommandContext) {
  let text: string;
  try {
    text = await readTextFile(resolve(shell.cwd, file), MAX_FILE_BYTES);
  } catch (error) {
    throw new UsageError(`${file}: ${readErrorMessage(error)}`, { cause: error });
  }
  try {
    return definitionsIn(parseJson(text), basename(file, extname(file)));
  } catch (error) {
    if (error instanceof NoDefinitions || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

type Form = "text" | "json" | "sarif";

function formOf(flags: JsonFlag & ScanFlags, env: CommandContext["env"]): Form {
  const isSarif = isFlagSet(flags.sarif, "CARDEA_SARIF", env);
  if (flags.json === true && flags.sarif === true)
    throw new UsageError("--json and --sarif exclude each other");
  if (isSarif && flags.json !== true) return "sarif";
  return wantsJson(flags, env) ? "json" : "text";
}

function leastOf({ minSeverity }: ScanFlags, env: CommandContext["env"]): Severity | undefined {
  const word = minSeverity ?? (env.CARDEA_MIN_SEVERITY === "" ? undefined : env.CARDEA_MIN_SEVERITY);
  if (word === undefined) return undefined;
  const found = SEVERITIES.find((severity) => severity === word);
  if (found === undefined)
    throw new UsageError(`--min-severity takes ${SEVERITIES.join(", ")}, not ${writeJson(word)}`);
  return found;
}

interface Output {
  readonly form: Form;
  /** The file that is named as the place of findings. */
  readonly artifact: string;
  readonly version: string;
}

function textOf(report: ScanReport, { form, artifact, version }: Output): string {
  if (form === "json") return writeJson(report, 2);
  if (form === "sarif") return writeJson(sarifOf(report, artifact, version), 2);
  const lines = [...report.findings]
    .toSorted((a, b) => SEVERITIES.indexOf(b.severity) - SEVERITIES.indexOf(a.severity))
    .map(lineOf);
  return [...lines, summaryOf(report)].join("\n");
}

const lineOf = ({ severity, rule, server, name, kind, pointer, message, excerpt }: Finding): string => {
  const item = kind === "server" ? `server ${server}` : `${server}: ${name}`;
  return terminalSafe(
    `${severity.padEnd(6)}  ${oneLine(item)}${oneLine(pointer)}\n        ${message} [${rule}]\n        ${excerpt}`,
  );
};

const oneLine = (text: string): string => text.replaceAll(/[\n\t]/g, " ");

function summaryOf({ definitions, servers, findings }: ScanReport): string {
  const of = `${definitions} definition${definitions === 1 ? "" : "s"} of ${servers.length} server${servers.length === 1 ? "" : "s"}`;
  if (findings.length === 0) return `${of}: nothing found`;
  const counts = SEVERITIES.toReversed().flatMap((severity) => {
    const count = findings.filter((finding) => finding.severity === severity).length;
    return count === 0 ? [] : [`${count} ${severity}`];
  });
  return `${of}: ${counts.join(", ")}; ${RULES_PAGE} has a section for each rule`;
}
