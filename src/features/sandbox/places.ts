/** What a process in a sandbox sees of the file system: which paths it may write, reads only, or does not see. */
import { realpathSync, statSync } from "node:fs";
import { dirname, join, sep } from "node:path";
import { GatewayError } from "../../core/errors.js";
import type { ProcessStart } from "../../core/process-start.js";
import { hiddenPlaces, PROTECTED } from "./hidden-places.js";
import type { SandboxSettings } from "./section.js";

/** What is made of a path. */
export interface Place {
  /** Without symbolic links. */
  readonly path: string;
  readonly access: "write" | "read" | "none";
  readonly isFolder: boolean;
}

/** What the places depend on, beside the settings of the server. */
export interface Surroundings {
  readonly home: string;
  readonly platform: NodeJS.Platform;
  /** Of the gateway; undefined if it keeps nothing. */
  readonly stateFolder: string | undefined;
  /** The files of the config, with the values in it. */
  readonly configFiles: readonly string[];
  /** A folder for the server alone, which it may write; undefined if it needs none. */
  readonly ownFolder: string | undefined;
  /** Folders that are empty, and the server's own, until a place in them says more. */
  readonly privateFolders: readonly string[];
  /** What is read in them nevertheless. */
  readonly read: readonly string[];
}

/**
 * The places, shorter paths first; each counts for what is below it, until a longer one says otherwise.
 *
 * @throws GatewayError for a path in `write` that is not there, or that would open the gateway's own state
 */
export function placesOf(
  start: Pick<ProcessStart, "name" | "cwd" | "command">,
  settings: SandboxSettings,
  around: Surroundings,
): readonly Place[] {
  const cwd = realPath(start.cwd) ?? start.cwd;
  const written = [...settings.write, ...(settings.writesRoots ? [start.cwd] : [])].map((path) => {
    const found = placeAt(path, "write");
    if (found === undefined) throw refusal(start, `sandbox.write names ${path}, which does not exist`);
    return found;
  });
  const gatewaysOwn = [around.stateFolder ?? [], around.configFiles].flat();
  const hidden = [...hiddenPlaces(around.home, around.platform), ...settings.hide, ...gatewaysOwn].flatMap(
    (path) => placeAt(path, "none") ?? [],
  );
  const state = around.stateFolder === undefined ? undefined : realPath(around.stateFolder);
  for (const { path } of written) {
    if (state !== undefined && isWithin(path, state))
      throw refusal(start, `sandbox.write names ${path}, which is part of the gateway's own state`);
  }
  const kept = written.flatMap(({ path, isFolder }) =>
    isFolder ? PROTECTED.flatMap((name) => placeAt(join(path, name), "read") ?? []) : [],
  );
  const own = around.ownFolder === undefined ? [] : [placeAt(around.ownFolder, "write") ?? []].flat();
  const byPath = new Map<string, Place>();
  // Of equal paths the last one counts: a path in `write` is meant, and so is one in `hide`; secrets of the gateway stay hidden.
  const asked = new Set([...settings.hide, ...gatewaysOwn].map((path) => realPath(path) ?? path));
  const unasked = hidden.filter(({ path }) => !asked.has(path));
  const all = [...kept, ...unasked, ...written, ...own, ...hidden.filter(({ path }) => asked.has(path))];
  for (const place of all) byPath.set(place.path, place);
  const seen = readableIn(
    around.privateFolders,
    [cwd, ...commandFolder(start.command), ...around.read.flatMap((path) => realPath(path) ?? [])],
    byPath,
  );
  for (const place of seen) byPath.set(place.path, place);
  const places = [...byPath.values()].toSorted((a, b) => depth(a.path) - depth(b.path));
  if (accessOf(cwd, places) === "none")
    throw refusal(start, `its working directory ${start.cwd} is hidden from it by its sandbox`);
  return places;
}

/** Places in private folders that the process cannot start without. */
const readableIn = (
  folders: readonly string[],
  needed: readonly string[],
  known: ReadonlyMap<string, Place>,
): readonly Place[] =>
  needed
    .filter((path) => folders.some((folder) => path !== folder && isWithin(path, folder)))
    .filter((path) => ![...known.values()].some((place) => isWithin(path, place.path)))
    .flatMap((path) => placeAt(path, "read") ?? []);

/** The folder of a program that is named by its path. */
function commandFolder(command: string): readonly string[] {
  const path = command.includes(sep) ? realPath(command) : undefined;
  return path === undefined ? [] : [dirname(command), dirname(path)];
}

function accessOf(path: string, places: readonly Place[]): Place["access"] {
  return places.findLast((place) => isWithin(path, place.path))?.access ?? "read";
}

const depth = (path: string): number => path.split(sep).length;

/** Whether `path` is `folder`, or below it. */
export const isWithin = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);

/** Undefined for a path that is not there. */
function placeAt(path: string, access: Place["access"]): Place | undefined {
  const real = realPath(path);
  if (real === undefined || real === sep) return undefined;
  return { path: real, access, isFolder: statSync(real, { throwIfNoEntry: false })?.isDirectory() ?? false };
}

function realPath(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}

const refusal = ({ name }: Pick<ProcessStart, "name">, why: string): GatewayError =>
  new GatewayError("upstream_unavailable", "gateway", `${name} is not started: ${why}`, {
    server: name,
    retryable: true,
  });
