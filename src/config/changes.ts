/** Summarises the changes of a new config for the log: servers, sections that have words for it, and everything else by key. */
import { isDeepStrictEqual } from "node:util";
import { type Config, type ConfiguredServer, isMisconfigured } from "./config.js";
import { type Section, sectionsWithin } from "./section.js";

/** `servers: added git, removed files, restarted db; policy rules: 3, was 2`; empty if these are equal. */
export function describeChanges(before: Config, now: Config, sections: readonly Section[]): string {
  const worded = sectionsWithin(sections, "file").filter(({ changes }) => changes !== undefined);
  const servers = serverChanges(before.servers, now.servers);
  const parts = [
    ...(servers === "" ? [] : [`servers: ${servers}`]),
    ...worded.flatMap(({ path, changes }) => changes?.(before.features[path], now.features[path]) ?? []),
    ...countChange("keys", before.auth?.keys ?? [], now.auth?.keys ?? []),
    ...OTHERS.filter((key) => !isDeepStrictEqual(before[key], now[key])).map((key) => key.replace(/Ms$/, "")),
    ...featureChanges(before.features, now.features).filter(
      (path) => !worded.some((section) => section.path === path),
    ),
    ...(isDeepStrictEqual(withoutKeys(before), withoutKeys(now)) ? [] : ["auth"]),
  ];
  return parts.join("; ");
}

const OTHERS = [
  "naming",
  "profiles",
  "parkedCalls",
  "telemetry",
  "startupWaitMs",
] as const satisfies readonly (keyof Config)[];

/** The sections of features that differ. */
const featureChanges = (before: Config["features"], now: Config["features"]): readonly string[] =>
  [...new Set([...Object.keys(before), ...Object.keys(now)])].filter(
    (path) => !isDeepStrictEqual(before[path], now[path]),
  );

const withoutKeys = ({ auth }: Config): unknown => auth && { ...auth, keys: [] };

function serverChanges(before: readonly ConfiguredServer[], now: readonly ConfiguredServer[]): string {
  const was = new Map(before.map((server) => [server.name, server]));
  const is = new Map(now.map((server) => [server.name, server]));
  const changed = now.flatMap((server) => {
    const old = was.get(server.name);
    return old === undefined || isDeepStrictEqual(old, server) ? [] : [{ old, server }];
  });
  const fixed = changed.filter(({ old, server }) => isMisconfigured(old) && !isMisconfigured(server));
  const good = changed.filter(({ old, server }) => !isMisconfigured(old) && !isMisconfigured(server));
  const groups: readonly (readonly [word: string, names: readonly string[]])[] = [
    ["added", [...is.keys()].filter((name) => !was.has(name))],
    ["removed", [...was.keys()].filter((name) => !is.has(name))],
    [
      "misconfigured",
      changed.filter(({ server }) => isMisconfigured(server)).map(({ server }) => server.name),
    ],
    ["started", fixed.map(({ server }) => server.name)],
    [
      "restarted",
      good.filter(({ old, server }) => needsRestart(old, server)).map(({ server }) => server.name),
    ],
    [
      "changed without a restart",
      good.filter(({ old, server }) => !needsRestart(old, server)).map(({ server }) => server.name),
    ],
  ];
  return groups
    .flatMap(([word, names]) => (names.length === 0 ? [] : [`${word} ${names.join(", ")}`]))
    .join(", ");
}

/** Whether a running server must be replaced: its transport or protocol settings, or what is wrong with it, differ. */
export function needsRestart(before: ConfiguredServer, now: ConfiguredServer): boolean {
  return !isDeepStrictEqual(essenceOf(before), essenceOf(now));
}

function essenceOf(server: ConfiguredServer) {
  const { transport, auth, protocol, lease, connectTimeoutMs, firstConnectTimeoutMs, roots } = server;
  const problems = isMisconfigured(server) ? server.problems : [];
  return { transport, auth, protocol, lease, connectTimeoutMs, firstConnectTimeoutMs, roots, problems };
}

/** `limits: 3, was 2`; empty if they are equal. */
export function countChange(
  label: string,
  before: readonly unknown[],
  now: readonly unknown[],
): readonly string[] {
  if (isDeepStrictEqual(before, now)) return [];
  return [
    before.length === now.length
      ? `${label}: ${now.length}, changed`
      : `${label}: ${now.length}, was ${before.length}`,
  ];
}
