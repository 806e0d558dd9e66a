/** Watches the config file: a valid change is applied as a whole, an invalid one is rejected. */
import { resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { describeChanges } from "../config/changes.js";
import { checkSections } from "../config/check-sections.js";
import type { Config } from "../config/config.js";
import { formatProblem, type Problem } from "../config/problem.js";
import { type GoodConfig, readConfig } from "../config/read.js";
import { type Section, sectionsWithin } from "../config/section.js";
import { watchConfig } from "../config/watch.js";
import type { Gateway } from "../gateway/gateway.js";
import type { CommandContext, Log } from "./command-context.js";
import { logServerProblems, type OpenedConfig } from "./open-config.js";
import { secretsOf } from "./secrets-of.js";
import { servingConflict } from "./serving-mode.js";
import { strictProblems } from "./strict.js";

/** Settings that need a restart. */
const RESTART_KEYS = ["listen", "keys"] as const;

/** Bound addresses and sealing keys stay, so the live config must not claim otherwise. */
function withoutRestartKeys(now: Config, running: Config, sections: readonly Section[]): Config {
  const { listen: _, keys: __, ...next } = now;
  const { listen, keys } = running;
  return {
    ...next,
    listen,
    ...(keys !== undefined && { keys }),
    features: Object.fromEntries(
      sectionsWithin(sections, "file")
        .map(({ path, change }) => [path, (change === "restart" ? running : now).features[path]])
        .filter(([, settings]) => settings !== undefined),
    ),
  };
}

/** The changes that need a restart, by key. */
function postponedKeys(now: Config, running: Config, sections: readonly Section[]): readonly string[] {
  const ofSections = sectionsWithin(sections, "file")
    .filter(({ change }) => change === "restart")
    .map(({ path }) => path)
    .filter((path) => !isDeepStrictEqual(now.features[path], running.features[path]));
  const isWithin = (key: string) => (path: string) => path.startsWith(`${key}.`);
  const keys = RESTART_KEYS.filter(
    (key) => !isDeepStrictEqual(now[key], running[key]) || ofSections.some(isWithin(key)),
  );
  return [...keys, ...ofSections.filter((path) => !RESTART_KEYS.some((key) => isWithin(key)(path)))];
}

/** `in effect: servers: added git`; without settings that need a restart. */
function inEffect(changes: string, postponed: readonly string[]): string {
  if (postponed.length === 0) return `in effect: ${changes || "nothing has changed"}`;
  return `in effect except ${postponed.join(" and ")}: ${changes || "nothing else has changed"}`;
}

/** How a changed file is taken over. */
interface ReloadOptions {
  /** Whether a file with any problem or warning is rejected. Default: false. */
  readonly isStrict?: boolean;
  /** Called with each file that is in effect from then on. */
  readonly onApplied?: (loaded: GoodConfig) => void;
}

/**
 * Watches until the returned function is called. SIGHUP reloads the file even if it is unchanged.
 */
export function watchAndReload(
  gateway: Gateway,
  opened: OpenedConfig,
  shell: CommandContext,
  log: Log,
  { isStrict = false, onApplied }: ReloadOptions = {},
): () => void {
  const { file, options } = opened;
  let running: Config = opened.loaded.config;
  let queue = Promise.resolve();

  const refuse = (problems: readonly Problem[]): void => {
    const sentences = problems.map((problem) => formatProblem({ ...problem, file }));
    for (const sentence of sentences) log.error({}, sentence);
    log.error({ file }, `the config stays as it was: ${file} is not right`);
    gateway.reloadFailed(sentences);
  };

  const apply = async (text: string): Promise<void> => {
    const loaded = await checkSections(readConfig(text, file, options));
    for (const warning of loaded.warnings) log.warn({}, formatProblem(warning));
    if (!loaded.ok) {
      refuse(loaded.problems);
      return;
    }
    log.addSecrets(secretsOf(loaded));
    const unwanted = isStrict ? await strictProblems(loaded, shell) : [];
    if (unwanted.length > 0) {
      refuse(unwanted);
      return;
    }
    logServerProblems(loaded, log);
    const obstacle = shell.worker === undefined ? undefined : servingConflict(shell.features, loaded.config);
    if (obstacle !== undefined) {
      refuse([{ file, line: 1, column: 1, message: obstacle.message }]);
      return;
    }
    const { sections = [] } = options;
    const postponed = postponedKeys(loaded.config, running, sections);
    for (const key of postponed) log.warn({ file }, `a change of ${key} takes effect at the next start`);
    const next = withoutRestartKeys(loaded.config, running, sections);
    try {
      await gateway.reload(next);
      const changes = describeChanges(running, next, sections);
      running = next;
      log.info({ file, servers: next.servers.length }, `${file} is ${inEffect(changes, postponed)}`);
      onApplied?.({ ...loaded, config: next });
    } catch (error) {
      log.error({ file, error }, `the config stays as it was: ${file} could not be applied`);
      gateway.reloadFailed([`${file} could not be applied`]);
    }
  };

  const watch = watchConfig(
    resolve(shell.cwd, file),
    (content) => {
      // One after the other, in order of the changes.
      queue = queue
        .then(() => ("text" in content ? apply(content.text) : refuse(content.problems)))
        .catch((error: unknown) => log.error({ file, error }, `${file} could not be watched`));
    },
    { current: opened.loaded.text },
  );
  const stopHangup = shell.signals.onHangup(() => watch.check());
  return () => {
    stopHangup();
    watch.close();
  };
}
