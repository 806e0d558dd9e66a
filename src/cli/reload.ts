/** Follows the config file while the gateway runs: a good change is applied whole, a bad one not at all. */
import { resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { Config } from "../config/config.js";
import { inspectRules } from "../config/inspect-rules.js";
import { formatProblem, type Problem } from "../config/problem.js";
import { readConfig } from "../config/read.js";
import { watchConfig } from "../config/watch.js";
import { workersObstacle } from "../config/workers.js";
import type { Gateway } from "../gateway.js";
import type { OpenConfig } from "./open-config.js";
import { secretsOf } from "./secrets-of.js";
import type { Log, Shell } from "./shell.js";

/** What a running gateway keeps, whatever a later config says. */
const NEED_A_RESTART = ["listen", "keys"] as const;

/** What is bound stays bound and what is sealed stays sealed, so the running config must not claim otherwise. */
function restartless({ listen: _, keys: __, ...next }: Config, { listen, keys }: Config): Config {
  return { ...next, listen, ...(keys !== undefined && { keys }) };
}

/** Until the returned function is called. SIGHUP reads the file again even when it looks the same. */
export function followConfig(gateway: Gateway, opened: OpenConfig, shell: Shell, log: Log): () => void {
  const { file, options } = opened;
  let running: Config = opened.loaded.config;
  let turn = Promise.resolve();

  const refuse = (problems: readonly Problem[]): void => {
    const sentences = problems.map((problem) => formatProblem({ ...problem, file }));
    for (const sentence of sentences) log.error({}, sentence);
    log.error({ file }, `the config stays as it was: ${file} is not right`);
    gateway.reloadFailed(sentences);
  };

  const apply = async (text: string): Promise<void> => {
    const loaded = await inspectRules(readConfig(text, file, options), shell.inspect);
    for (const warning of loaded.warnings) log.warn({}, formatProblem(warning));
    if (!loaded.ok) {
      refuse(loaded.problems);
      return;
    }
    log.hide(secretsOf(loaded));
    const obstacle = shell.worker === undefined ? undefined : workersObstacle(loaded.config);
    if (obstacle !== undefined) {
      refuse([{ file, line: 1, column: 1, message: obstacle }]);
      return;
    }
    for (const key of NEED_A_RESTART) {
      if (!isDeepStrictEqual(loaded.config[key], running[key])) {
        log.warn({ file }, `a change of ${key} takes effect at the next start`);
      }
    }
    const next = restartless(loaded.config, running);
    try {
      await gateway.reload(next);
      running = next;
      log.info({ file, servers: next.servers.length }, `${file} is in effect`);
    } catch (error) {
      log.error({ file, error }, `the config stays as it was: ${file} could not be applied`);
      gateway.reloadFailed([`${file} could not be applied`]);
    }
  };

  const watch = watchConfig(
    resolve(shell.cwd, file),
    (content) => {
      // One after the other, in the order of the changes.
      turn = turn
        .then(() => ("text" in content ? apply(content.text) : refuse(content.problems)))
        .catch((error: unknown) => log.error({ file, error }, `${file} could not be looked at`));
    },
    { current: opened.loaded.text },
  );
  const ignoreHangup = shell.signals.onHangup(() => watch.check());
  return () => {
    ignoreHangup();
    watch.close();
  };
}
