/**
 * Asks once before a command starts what the config of a folder names, where that config may have come with the folder:
 * `.mcp.json`, which other programs write, and a config of Cardea's that git has tracked.
 */
import { basename, isAbsolute, resolve } from "node:path";
import type { ConfigLocation } from "../config/find.js";
import { startPlan } from "../config/start-plan.js";
import { escapeHidden } from "../telemetry/log-format.js";
import { isNonSecretValue } from "../telemetry/secrets.js";
import { agreementOf, rememberAgreement } from "./agreements.js";
import type { CommandContext, Log } from "./command-context.js";
import { EXIT } from "./exit.js";
import { sectionsOf } from "./feature.js";
import { isFlagSet, type YesFlag } from "./flags.js";
import { isTracked } from "./git-index.js";
import type { OpenedConfig } from "./open-config.js";
import { canPrompt, confirm } from "./prompt.js";

/**
 * Undefined if the servers may be started, otherwise the exit code. A config that was named by a flag or a variable, or
 * that is in the user's own config folder, needs no agreement.
 */
export async function refusalToStart(
  { loaded, location }: Pick<OpenedConfig, "loaded" | "location">,
  flags: YesFlag,
  shell: CommandContext,
  log: Log,
): Promise<number | undefined> {
  const path = resolve(shell.cwd, location.file);
  if (!mayBeForeign(location, path)) return undefined;
  const { lines, digest } = startPlan(loaded.text, path, loaded.sections, isNonSecretValue);
  const agreement = agreementOf(shell.env, path, digest);
  if (lines.length === 0 || agreement === "agreed") return undefined;
  const safe = lines.map((line) => log.redact(escapeHidden(line)));
  const { file } = location;
  const since = agreement === "changed" ? " has changed since it was agreed to, and" : "";
  if (!isFlagSet(flags.yes, "CARDEA_YES", shell.env)) {
    if (!canPrompt(shell)) {
      log.error(
        { file },
        `${file}${since} would start ${safe.join("; ")}. --yes agrees to that and remembers it, --config ${file} uses it without asking`,
      );
      return EXIT.usage;
    }
    const list = safe.map((line) => `  ${line}\n`).join("");
    shell.stderr.write(`${file} in this folder${since} would start:\n${list}`);
    if (!(await confirm("Start that? It is asked once, until it changes.", shell, "no"))) return EXIT.failed;
  } else log.info({ file }, `agreed: ${file} starts ${safe.join("; ")}`);
  await rememberAgreement(shell.env, path, digest).catch((error: unknown) =>
    log.warn({ error }, `the agreement to ${file} cannot be remembered; it is asked for again`),
  );
  return undefined;
}

/** Whether a config would start without a question, or be asked for only because it may be foreign. */
function mayBeForeign({ file, by }: ConfigLocation, path: string): boolean {
  if (by !== "discovery" || isAbsolute(file)) return false;
  return basename(file) === ".mcp.json" || isTracked(path);
}

/**
 * Remembers that this user has written a config: `init` and `add` do. An edit of a config that the user has not agreed to
 * is no agreement to the rest of it.
 *
 * @param before its text before the edit; undefined if it is new
 */
export async function agreeToOwn(
  path: string,
  { before, after }: { readonly before: string | undefined; readonly after: string },
  shell: CommandContext,
  log: Log,
): Promise<void> {
  const sections = await sectionsOf(shell.features);
  const digestOf = (text: string): string => startPlan(text, path, sections, () => false).digest;
  const isForeign = basename(path) === ".mcp.json" || isTracked(path);
  const isKnown = before !== undefined && agreementOf(shell.env, path, digestOf(before)) === "agreed";
  if (before !== undefined && isForeign && !isKnown) return;
  await rememberAgreement(shell.env, path, digestOf(after)).catch((error: unknown) =>
    log.debug({ error }, "the state folder cannot be written"),
  );
}
