/** Problems of a config beyond its schema, which sections find when it was read. */
import type { Problem } from "./problem.js";
import type { BadConfig, GoodConfig } from "./read.js";
import { type LateFault, NO_SERVER, type Section, type SettingsSection, sectionsWithin } from "./section.js";
import { type ObjectTree, plainValue, type Tree } from "./tree.js";
import { describePath } from "./variables.js";

/** The outcome with the errors that the checks of its sections find. */
export async function checkSections(outcome: GoodConfig | BadConfig): Promise<GoodConfig | BadConfig> {
  const { check, problemAt, warnings } = outcome;
  const faults = await check();
  if (faults.length === 0) return outcome;
  const found = faults.map(({ path, message }) => problemAt(path, `${describePath(path)}: ${message}`));
  const known: readonly Problem[] = outcome.problems;
  const problems = [...known, ...found].sort((a, b) => a.line - b.line || a.column - b.column);
  return { ok: false, problems, warnings, check, problemAt };
}

/** The settings of sections of the file with a check, as far as their own shapes are valid; `known` are those that are complete. */
export const settingsToCheck = (
  sections: readonly Section[],
  tree: ObjectTree,
  folder: string,
  known: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    sectionsWithin(sections, "file").flatMap((section) => {
      if (section.check === undefined) return [];
      const settings =
        known[section.path] ?? settingsAlone(section, tree.members.get(section.path)?.value, folder);
      return settings === undefined ? [] : [[section.path, settings]];
    }),
  );

function settingsAlone(section: SettingsSection, content: Tree | undefined, folder: string): unknown {
  const shape = content && section.schema.safeParse(plainValue(content)).data;
  return shape === undefined ? undefined : section.complete(shape, folder, NO_SERVER);
}

/** What the checks of sections find. */
export const checkedFaults = async (
  sections: readonly Section[],
  settings: Readonly<Record<string, unknown>>,
): Promise<readonly LateFault[]> =>
  (
    await Promise.all(
      sectionsWithin(sections, "file").map(async ({ path, check }) =>
        settings[path] === undefined ? [] : ((await check?.(settings[path], settings)) ?? []),
      ),
    )
  ).flat();
