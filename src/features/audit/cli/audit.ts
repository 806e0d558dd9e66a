/** `cardea audit verify` and `cardea audit show`: verifies the log, and prints lines of it. */

import { type CommandContext, write } from "../../../cli/command-context.js";
import { messageOf } from "../../../cli/error-facts.js";
import { EXIT, UsageError } from "../../../cli/exit.js";
import { type ConfigFlags, type JsonFlag, textFlag, wantsJson } from "../../../cli/flags.js";
import { openConfig } from "../../../cli/open-config.js";
import { type Cell, tableText, widthOf } from "../../../cli/table.js";
import { terminalSafe } from "../../../cli/terminal-safe.js";
import { parseDuration } from "../../../config/units.js";
import { writeJson } from "../../../wire/json-text.js";
import { logsBeside } from "../names.js";
import { type LineFilter, readLog, type ShownLine } from "../read-log.js";
import { type Fault, type Verification, verifyLog } from "../verify.js";

/** The filter of `audit show`. */
export interface ShowFlags {
  readonly as?: string;
  readonly since?: string;
  readonly server?: string;
  readonly kind?: string;
}

/** Verifies the log, and those of other workers. @returns the exit code: 1 if a fault is found */
export async function auditVerify(
  file: string,
  flags: ConfigFlags & JsonFlag,
  shell: CommandContext,
): Promise<number> {
  const json = wantsJson(flags, shell.env);
  const key = await keyOf(flags, shell);
  if (typeof key === "number") return key;
  try {
    const logs = await logsBeside(file);
    if (logs.length === 0) {
      await write(shell.stderr, `there is no audit log ${terminalSafe(file)}\n`);
      return EXIT.failed;
    }
    const found: Verification[] = [];
    for (const log of logs) found.push(await verifyLog(log, key));
    await write(
      shell.stdout,
      json ? `${JSON.stringify(found, undefined, 2)}\n` : found.map(verdictOf).join(""),
    );
    return found.every(({ ok }) => ok) ? EXIT.done : EXIT.failed;
  } catch (error) {
    await write(shell.stderr, `the audit log cannot be read: ${terminalSafe(messageOf(error))}\n`);
    return EXIT.failed;
  }
}

/** The key of the log: of the environment, or of the config that is named; or the exit code. */
async function keyOf(flags: ConfigFlags, shell: CommandContext): Promise<string | undefined | number> {
  const { CARDEA_AUDIT_KEY: given = "", CARDEA_CONFIG: named = flags.config } = shell.env;
  if (given !== "") return given;
  if (named === undefined) return undefined;
  const log = await shell.openLog({ quiet: true });
  const opened = await openConfig(shell, log, flags.config);
  return opened === undefined ? EXIT.config : opened.loaded.config.features.audit?.key;
}

function verdictOf({ file, ok, files, lines, from, to, keyedFrom = from, faults }: Verification): string {
  const keyed = keyedFrom > from ? `, with the key from line ${keyedFrom}` : "";
  const what = `${terminalSafe(file)}: ${lines} lines (${from} to ${to})${keyed} in ${files} file${files === 1 ? "" : "s"}`;
  return ok ? `ok    ${what}\n` : [`FAULT ${what}`, ...faults.map(faultText), ""].join("\n");
}

const faultText = ({ file, line, byte, seq, reason }: Fault): string => {
  const place = [
    terminalSafe(file),
    ...(line === undefined ? [] : [`line ${line}`]),
    ...(seq === undefined ? [] : [`seq ${seq}`]),
    ...(byte === undefined ? [] : [`byte ${byte}`]),
  ];
  return `  ${place.join(", ")}: ${reason}`;
};

/** Prints the matching lines, oldest first. Without `file` it reads the log of the config. @returns the exit code */
export async function auditShow(
  file: string | undefined,
  flags: ShowFlags & ConfigFlags & JsonFlag,
  shell: CommandContext,
): Promise<number> {
  const json = wantsJson(flags, shell.env);
  const filter = filterOf(flags, shell.env);
  const path = file ?? (await configuredFile(flags, shell));
  if (typeof path === "number") return path;
  try {
    const lines: ShownLine[] = [];
    for (const log of await logsBeside(path)) {
      for await (const line of readLog(log, filter)) {
        if (json) await write(shell.stdout, `${writeJson(line)}\n`);
        else lines.push(line);
      }
    }
    lines.sort((a, b) => textOf(a.at).localeCompare(textOf(b.at)));
    if (!json) await write(shell.stdout, tableOf(lines, widthOf(shell.stdout)));
    return EXIT.done;
  } catch (error) {
    await write(shell.stderr, `the audit log cannot be read: ${terminalSafe(messageOf(error))}\n`);
    return EXIT.failed;
  }
}

async function configuredFile(flags: ConfigFlags, shell: CommandContext): Promise<string | number> {
  const log = await shell.openLog({ quiet: true });
  const opened = await openConfig(shell, log, flags.config);
  if (opened === undefined) return EXIT.config;
  const { audit } = opened.loaded.config.features;
  if (audit !== undefined) return audit.file;
  throw new UsageError("the config has no audit log; name the file: cardea audit show FILE");
}

/** The kinds of lines. */
const KINDS = ["call", "question", "approval", "reload", "admin", "sign_in", "start", "stop"];
const DAY_MS = 86_400_000;

function filterOf(flags: ShowFlags, env: CommandContext["env"]): LineFilter {
  const [as, server, kind, since] = (["as", "server", "kind", "since"] as const).map((name) =>
    textFlag(flags[name], name, env),
  );
  if (kind?.text !== undefined && !KINDS.includes(kind.text))
    throw new UsageError(`${kind.source} takes one of ${KINDS.join(", ")}`);
  const from = since?.text === undefined ? undefined : sinceOf(since.text, since.source);
  return { principal: as?.text, server: server?.text, kind: kind?.text, since: from };
}

/** The start of the time range, in ms since 1970. @throws UsageError */
function sinceOf(text: string, source: string): number {
  const days = /^(\d{1,4})d$/.exec(text)?.[1];
  const ago = days === undefined ? parseDuration(text) : Number(days) * DAY_MS;
  const at = ago === undefined ? Date.parse(text) : Date.now() - ago;
  if (Number.isNaN(at))
    throw new UsageError(`${source} takes a time such as "1h", "7d" or "2027-01-31T12:00:00Z"`);
  return at;
}

/** A narrow terminal still shows the operation and its outcome. */
const HEADINGS: readonly Cell[] = [
  { text: "TIME", narrow: 1 },
  { text: "KIND", narrow: 2 },
  { text: "PRINCIPAL", narrow: 4 },
  { text: "SERVER", narrow: 5 },
  { text: "WHAT" },
  { text: "OUTCOME" },
  { text: "MS", narrow: 3 },
];
const MAX_CELL = 200;

const tableOf = (lines: readonly ShownLine[], width: number | undefined): string =>
  tableText([HEADINGS, ...lines.map(cellsOf)], width, { longest: MAX_CELL });

function cellsOf(line: ShownLine): readonly Cell[] {
  const { at, kind, principal, server, method, target, decision, outcome, ms } = line;
  const total = typeof ms === "object" && ms !== null && "total" in ms ? String(ms.total) : "";
  const what = [method, target]
    .map(textOf)
    .filter((text) => text !== "")
    .join(" ");
  const end = [decision, outcome]
    .map(textOf)
    .filter((text) => text !== "")
    .join(" ");
  return [textOf(at).slice(0, 19).replace("T", " "), kind, principal, server, what, end, total].map(
    (cell) => ({
      text: textOf(cell),
    }),
  );
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");
