/** `cardea check`: prints every problem of the config, and advice, without starting any server. */
import { isMisconfigured } from "../config/config.js";
import { findConfig, noConfigMessage } from "../config/find.js";
import { loadConfig } from "../config/load.js";
import { type CommandContext, write } from "./command-context.js";
import { EXIT } from "./exit.js";
import { sectionsOf } from "./feature.js";
import {
  type ConfigFlags,
  isFlagSet,
  type JsonFlag,
  listenOverrides,
  type StrictFlag,
  wantsJson,
} from "./flags.js";
import { adviceOn, problemsOf } from "./strict.js";
import { painter, problemText, warningText, writePainted } from "./terminal.js";

/** Returns the exit code: 0, or 78 with problems; with `--strict` also with warnings. */
export async function check(
  flags: ConfigFlags & JsonFlag & StrictFlag,
  shell: CommandContext,
): Promise<number> {
  const json = wantsJson(flags, shell.env);
  const found = findConfig({ flag: flags.config, env: shell.env, cwd: shell.cwd });
  if (found === undefined) {
    const message = noConfigMessage(shell);
    const log = await shell.openLog();
    log.error({}, message);
    const report = { ok: false, servers: [], misconfigured: [], problems: [{ message }], warnings: [] };
    if (json) await write(shell.stdout, `${JSON.stringify(report, null, 2)}\n`);
    return EXIT.config;
  }
  const { file, by } = found;
  const log = await shell.openLog();
  log.info({ file, by }, by === "discovery" ? `checking ${file}` : `checking ${file}, named by ${by}`);
  // Like `serve`: variables such as CARDEA_HOST replace flags.
  const overrides = listenOverrides({}, shell.env, shell.features);
  const sections = await sectionsOf(shell.features);
  const loaded = await loadConfig(file, {
    ...{ env: shell.env, cwd: shell.cwd, overrides, sections },
  });
  const problems = loaded.ok ? problemsOf(loaded, shell) : loaded.problems;
  const warnings = [...loaded.warnings, ...(loaded.ok ? await adviceOn(loaded, shell) : [])];
  const isStrict = isFlagSet(flags.strict, "CARDEA_STRICT", shell.env);
  const ok = problems.length === 0 && (!isStrict || warnings.length === 0);
  const servers = loaded.ok ? loaded.config.servers.map(({ name }) => name) : [];
  const misconfigured = loaded.ok
    ? loaded.config.servers.filter(isMisconfigured).map(({ name }) => name)
    : [];
  if (json) {
    const report = { file, ok, servers, misconfigured, problems, warnings };
    await write(shell.stdout, `${JSON.stringify(report, null, 2)}\n`);
  } else {
    const paint = painter(shell.stdout, shell.env);
    const lines = [
      ...problems.map((problem) => problemText(problem, paint)),
      ...warnings.map((warning) => warningText(warning, paint)),
    ];
    if (misconfigured.length > 0) lines.push(`${paint("bold", file)}: ${summaryOf(misconfigured, servers)}`);
    if (ok)
      lines.push(
        `${paint("bold", file)}: ${paint("green", "all right")}, ${servers.length === 1 ? "1 server" : `${servers.length} servers`}`,
      );
    await writePainted(shell.stdout, lines.map((line) => `${line}\n`).join(""));
  }
  return ok ? EXIT.done : EXIT.config;
}

function summaryOf(misconfigured: readonly string[], servers: readonly string[]): string {
  const are = misconfigured.length === 1 ? "1 server is" : `${misconfigured.length} servers are`;
  const others = servers.length - misconfigured.length;
  return `${are} misconfigured and would not start: ${misconfigured.join(", ")}; ${others} would`;
}
