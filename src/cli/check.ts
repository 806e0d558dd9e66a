/** `cardea check`: prints every problem of the config, and advice, without starting any server. */
import { type Advice, advise, serveObstacles } from "../config/advice.js";
import { adviseFolders } from "../config/advise-folders.js";
import { workersConflict } from "../config/check-rules.js";
import { findConfig, noConfigMessage } from "../config/find.js";
import { loadConfig } from "../config/load.js";
import type { Problem } from "../config/problem.js";
import type { GoodConfig } from "../config/read.js";
import { type CommandContext, write } from "./command-context.js";
import { EXIT } from "./exit.js";
import { type ConfigFlags, type JsonFlag, listenOverrides, wantsJson, workerCount } from "./flags.js";
import { painter, problemText, warningText, writePainted } from "./terminal.js";

/** Returns the exit code: 0, or 78 with problems. */
export async function check(flags: ConfigFlags & JsonFlag, shell: CommandContext): Promise<number> {
  const json = wantsJson(flags, shell.env);
  const found = findConfig({ flag: flags.config, env: shell.env, cwd: shell.cwd });
  if (found === undefined) {
    const message = noConfigMessage(shell);
    const log = await shell.openLog();
    log.error({}, message);
    const report = { ok: false, servers: [], problems: [{ message }], warnings: [] };
    if (json) await write(shell.stdout, `${JSON.stringify(report, null, 2)}\n`);
    return EXIT.config;
  }
  const { file, by } = found;
  const log = await shell.openLog();
  log.info({ file, by }, `checking ${file}`);
  // Like `serve`: variables such as CARDEA_HOST replace flags.
  const overrides = listenOverrides({}, shell.env);
  const loaded = await loadConfig(file, shell.checkRules, { env: shell.env, cwd: shell.cwd, overrides });
  const problems = loaded.ok ? obstaclesIn(loaded, shell) : loaded.problems;
  const ok = problems.length === 0;
  const warnings = [...loaded.warnings, ...(loaded.ok ? await adviceOn(loaded, shell) : [])];
  const servers = loaded.ok ? loaded.config.servers.map(({ name }) => name) : [];
  if (json) {
    const report = { file, ok, servers, problems, warnings };
    await write(shell.stdout, `${JSON.stringify(report, null, 2)}\n`);
  } else {
    const paint = painter(shell.stdout, shell.env);
    const lines = [
      ...problems.map((problem) => problemText(problem, paint)),
      ...warnings.map((warning) => warningText(warning, paint)),
    ];
    if (ok)
      lines.push(
        `${paint("bold", file)}: ${paint("green", "all right")}, ${servers.length === 1 ? "1 server" : `${servers.length} servers`}`,
      );
    await writePainted(shell.stdout, lines.map((line) => `${line}\n`).join(""));
  }
  return ok ? EXIT.done : EXIT.config;
}

/** What `serve` would refuse in a valid config, with the variables that replace its flags. */
function obstaclesIn({ config, problemAt }: GoodConfig, shell: CommandContext): readonly Problem[] {
  const conflict = workerCount({}, shell.env) > 1 ? workersConflict(config) : undefined;
  return [
    ...serveObstacles(config),
    ...(conflict === undefined ? [] : [{ path: ["limits"], message: conflict }]),
  ].map(({ path, message }) => problemAt(path, message));
}

async function adviceOn(
  { config, secrets, serverPath, problemAt }: GoodConfig,
  shell: CommandContext,
): Promise<readonly Problem[]> {
  const hasRules = config.policy !== undefined || config.limits !== undefined;
  const onRules: readonly Advice[] = hasRules ? await shell.advisePolicy(config) : [];
  return [...advise(config), ...adviseFolders(config), ...onRules].map(({ server, path, message }) => {
    // Advice may name a package, and a variable may be part of that name.
    const safe = secrets.reduce(
      (text, secret) => (secret === "" ? text : text.replaceAll(secret, "…")),
      message,
    );
    return server === undefined
      ? problemAt(path, safe)
      : problemAt([...serverPath(server), ...path], `server ${JSON.stringify(server)}: ${safe}`);
  });
}
