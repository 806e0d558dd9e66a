/** What a person adds gets the exact version of its package. */
import type { AddedEntry, RefinedEntry } from "../../cli/feature.js";
import { lookAlikeText } from "./advice.js";
import { newestOldEnough } from "./age.js";
import type { ChildPlace } from "./child-output.js";
import { newestOf, versionsOf } from "./npm-registry.js";
import { type PackageStart, packageStart, pinnedArgs } from "./package-start.js";
import type { PackageSettings } from "./section.js";

/** The entry with an exact version, and what the person should know. */
export async function pinned(
  { entry, flags, env, cwd }: AddedEntry,
  settings: PackageSettings,
): Promise<RefinedEntry> {
  const { command, args } = entry;
  const words = Array.isArray(args) ? args.filter((each) => typeof each === "string") : [];
  if (typeof command !== "string" || (Array.isArray(args) && words.length !== args.length))
    return { entry, notes: [] };
  const line = packageStart(command, words);
  // A variable in its name or version is the person's to fill.
  if (line === undefined || line.all.some((text) => text.includes("${"))) return { entry, notes: [] };
  const notes = [lookAlikeText(line) ?? []].flat();
  if (flags.unpinned === true || line.pin !== undefined) return { entry, notes };
  const version = await exactVersion(line, settings, { env: definedOf(env), cwd });
  const exact = version === undefined ? undefined : pinnedArgs(words, line, version);
  if (exact !== undefined) return { entry: { ...entry, args: exact }, notes };
  const why =
    version === undefined
      ? "the package registry names no version that is old enough, or cannot be reached"
      : "its form has no place for one";
  return { entry, notes: [...notes, `${line.text} is written without an exact version: ${why}`] };
}

const definedOf = (env: AddedEntry["env"]): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );

async function exactVersion(
  { ecosystem, name, spec, text }: PackageStart,
  { minAgeMs }: PackageSettings,
  place: ChildPlace,
): Promise<string | undefined> {
  const now = Date.now();
  if (ecosystem === "python") {
    const { newestPython } = await import("./python-index.js");
    const before = minAgeMs === 0 ? undefined : new Date(now - minAgeMs).toISOString();
    return newestPython(name, spec, before, place);
  }
  const known = await versionsOf(name, place);
  if (typeof known === "string") return undefined;
  const tagged = known.tags.get(spec === "" ? "latest" : spec);
  const isOld = (version: string): boolean => now - (known.times.get(version) ?? 0) >= minAgeMs;
  if (tagged !== undefined)
    return isOld(tagged) || spec !== ""
      ? isOld(tagged)
        ? tagged
        : undefined
      : newestOldEnough(known.times, minAgeMs, now);
  const newest = await newestOf(text, {
    ...place,
    env: { ...place.env, ...(minAgeMs > 0 && { npm_config_before: new Date(now - minAgeMs).toISOString() }) },
  });
  return typeof newest === "string" ? undefined : newest.version;
}
