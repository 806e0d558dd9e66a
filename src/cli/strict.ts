/** What is wrong with a config that can be served, and what is probably not intended: for `check` and `--strict`. */
import { type Advice, advise, serveObstacles } from "../config/advice.js";
import { adviseFolders } from "../config/advise-folders.js";
import type { Problem } from "../config/problem.js";
import type { GoodConfig } from "../config/read.js";
import type { CommandContext } from "./command-context.js";
import { advised } from "./feature.js";
import { ineffectiveByKeptLists } from "./kept-lists.js";
import { servingConflict, servingModeOf } from "./serving-mode.js";

/** The problems of single servers, and what `serve` would refuse, with the variables that replace its flags. */
export function problemsOf(
  { config, problems, problemAt, sections }: GoodConfig,
  shell: CommandContext,
): readonly Problem[] {
  const isAsked = servingModeOf(shell.features)?.asked({}, shell.env) !== undefined;
  const conflict = isAsked ? servingConflict(shell.features, config) : undefined;
  const obstacles = [...serveObstacles(config, sections), ...(conflict === undefined ? [] : [conflict])].map(
    ({ path, message }) => problemAt(path, message),
  );
  return [...problems, ...obstacles];
}

/** Everything that `--strict` refuses: problems of servers, warnings and advice. */
export async function strictProblems(loaded: GoodConfig, shell: CommandContext): Promise<readonly Problem[]> {
  return [...loaded.problems, ...loaded.warnings, ...(await adviceOn(loaded, shell))];
}

/** Advice on a config, with its places; also on what matches nothing in the lists that an earlier run has kept. */
export async function adviceOn(loaded: GoodConfig, shell: CommandContext): Promise<readonly Problem[]> {
  const { config, sections } = loaded;
  const ineffective = await ineffectiveByKeptLists(config, shell);
  // The lists tell more about a glob than the prefixes of servers.
  const known = new Set(ineffective.map(placeOf));
  const ofFeatures: readonly Advice[] = await advised(shell.features, config);
  const others = ofFeatures.filter((advice) => !known.has(placeOf(advice)));
  return placed([...advise(config, sections), ...adviseFolders(config), ...ineffective, ...others], loaded);
}

const placeOf = ({ server = "", path }: Advice): string => [server, ...path].join("\0");

/** Advice as problems at their places, without the values of variables. */
export function placed(
  found: readonly Advice[],
  { secrets, serverPath, problemAt }: Pick<GoodConfig, "secrets" | "serverPath" | "problemAt">,
): readonly Problem[] {
  return found.map(({ server, path, message, values = [] }) => {
    const safe = masked(message, values, secrets);
    return server === undefined
      ? problemAt(path, safe)
      : problemAt([...serverPath(server), ...path], `server ${JSON.stringify(server)}: ${safe}`);
  });
}

/** Shorter secrets (characters) are masked only in what is known to be a value. */
const MIN_SECRET_LENGTH = 6;

/**
 * A sentence without the values of variables: all of them in the parts that are values of the config, long ones in what it quotes,
 * such as the name of a rule. Its own words stay.
 */
function masked(message: string, values: readonly string[], secrets: readonly string[]): string {
  const mask = (text: string, from: number): string =>
    secrets.reduce((left, secret) => (secret.length < from ? left : left.replaceAll(secret, "…")), text);
  const quoted = message.replace(/"[^"]*"/g, (part) => mask(part, MIN_SECRET_LENGTH));
  return values.reduce((text, value) => text.replaceAll(value, () => mask(value, 1)), quoted);
}
