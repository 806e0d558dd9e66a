/** The section `packages`: how old a version must be that a runner fetches, and whether its install scripts run. */
import { z } from "zod";
import { NO_SERVER, sectionOf } from "../../config/section.js";
import { isObject } from "../../wire/json.js";

/** The settings, with defaults. */
export interface PackageSettings {
  /** A younger version is not fetched. 0: any is. */
  readonly minAgeMs: number;
  /** Whether install scripts of packages run. */
  readonly runsScripts: boolean;
}

const UNITS_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const AGE = /^(\d{1,8})(s|m|h|d)$/;
const DEFAULT_AGE = "7d";
const MAX_DAYS = 3650;

/** Milliseconds; undefined for a text that is no age. */
function parseAge(text: string): number | undefined {
  const [, amount, unit = ""] = AGE.exec(text) ?? [];
  const ms = Number(amount) * (UNITS_MS[unit] ?? Number.NaN);
  return ms <= MAX_DAYS * 86_400_000 ? ms : undefined;
}

const schema = z
  .strictObject({
    minAge: z
      .string()
      .refine((text) => parseAge(text) !== undefined, {
        error: `must be an age such as "12h", "7d" or "0s", at most ${MAX_DAYS}d`,
      })
      .default(DEFAULT_AGE)
      .describe(
        "A version that was published later than this long ago is not fetched; an exact version that is younger is refused. `0s` allows any.",
      ),
    scripts: z
      .boolean()
      .default(false)
      .describe("Whether install scripts of the fetched packages run (`npm_config_ignore_scripts`)."),
  })
  .exactOptional()
  .describe(
    "Packages that `npx`, `bunx`, `pnpm dlx`, `uvx` or `pipx run` fetch for servers. A change needs a restart.",
  );

/** Of a file without the section. */
const DEFAULTS: PackageSettings = { minAgeMs: parseAge(DEFAULT_AGE) ?? 0, runsScripts: false };

/** `packages`. */
export const section = sectionOf({
  path: "packages",
  schema,
  change: "restart",
  complete: (shape): PackageSettings => ({
    minAgeMs: parseAge(shape?.minAge ?? DEFAULT_AGE) ?? 0,
    runsScripts: shape?.scripts ?? false,
  }),
});

/** Those of a file that was not checked; the defaults for a section that is wrong. */
export function settingsIn(file: unknown): PackageSettings {
  const found = schema.safeParse(isObject(file) ? file[section.path] : undefined);
  return found.success ? (section.complete(found.data, "", NO_SERVER) as PackageSettings) : DEFAULTS;
}

/** Those of a config. */
export const settingsOf = (features: Readonly<Record<string, unknown>>): PackageSettings =>
  (features[section.path] as PackageSettings | undefined) ?? DEFAULTS;
