/** The variables by which a runner leaves young versions and install scripts alone. */
import type { PackageSettings } from "./section.js";

type Environment = Readonly<Record<string, string>>;

/** Runners that read no variable for the age, so that the version is checked before they start. */
export const IGNORES_AGE: ReadonlySet<string> = new Set(["bunx", "bun x", "yarn dlx"]);

/** The registry is asked for what was there at the beginning of an hour, so that what is cached for a line stays valid. */
const STEP_MS = 3_600_000;

/** Whether the entry of a server chooses its own limit. */
export const choosesItsAge = (env: Environment): boolean =>
  ["npm_config_before", "npm_config_min_release_age", "UV_EXCLUDE_NEWER"].some((name) => has(env, name));

/** `env` with them; what an entry sets itself stays. `now` in ms. */
export function withCoolDown(
  runner: string,
  env: Environment,
  { minAgeMs, runsScripts }: PackageSettings,
  now: number,
): Environment {
  const age = minAgeMs === 0 || choosesItsAge(env) ? {} : ageVariables(runner, minAgeMs, now);
  const scripts = runsScripts ? {} : scriptVariables(runner);
  return {
    ...Object.fromEntries([...Object.entries({ ...age, ...scripts })].filter(([name]) => !has(env, name))),
    ...env,
  };
}

function ageVariables(runner: string, minAgeMs: number, now: number): Environment {
  const before = new Date(Math.floor((now - minAgeMs) / STEP_MS) * STEP_MS).toISOString();
  const [program = ""] = runner.split(" ");
  if (program === "npx" || program === "npm") return { npm_config_before: before };
  if (program === "uvx" || program === "uv") return { UV_EXCLUDE_NEWER: before };
  if (program === "pipx") return { PIP_UPLOADED_PRIOR_TO: before };
  if (program !== "pnpm" && program !== "pnpx") return {};
  const minutes = `${Math.ceil(minAgeMs / 60_000)}`;
  return { npm_config_minimum_release_age: minutes, pnpm_config_minimum_release_age: minutes };
}

function scriptVariables(runner: string): Environment {
  if (runner === "yarn dlx") return { YARN_ENABLE_SCRIPTS: "false" };
  // bun runs scripts only of packages that its own list has.
  return /^(?:npx|npm|pnpm|pnpx)\b/.test(runner) ? { npm_config_ignore_scripts: "true" } : {};
}

const has = (env: Environment, name: string): boolean =>
  Object.keys(env).some((each) => each.toLowerCase() === name.toLowerCase());
