/** Summarises the changes of a new config for the log: servers, rules, and everything else by key. */
import { isDeepStrictEqual } from "node:util";
import type { Config, ServerConfig } from "./config.js";

/** `servers: added git, removed files, restarted db; policy rules: 3, was 2`; empty if these are equal. */
export function describeChanges(before: Config, now: Config): string {
  const servers = serverChanges(before.servers, now.servers);
  const parts = [
    ...(servers === "" ? [] : [`servers: ${servers}`]),
    ...countChange("policy rules", before.policy?.rules ?? [], now.policy?.rules ?? []),
    ...(defaultOf(before) === defaultOf(now) ? [] : [`policy.default: ${defaultOf(now)}`]),
    ...countChange("limits", before.limits ?? [], now.limits ?? []),
    ...countChange("keys", before.auth?.keys ?? [], now.auth?.keys ?? []),
    ...OTHERS.filter((key) => !isDeepStrictEqual(before[key], now[key])).map((key) => key.replace(/Ms$/, "")),
    ...(isDeepStrictEqual(withoutKeys(before), withoutKeys(now)) ? [] : ["auth"]),
  ];
  return parts.join("; ");
}

const OTHERS = [
  "naming",
  "tools",
  "profiles",
  "parkedCalls",
  "audit",
  "telemetry",
  "startupWaitMs",
] as const satisfies readonly (keyof Config)[];

const defaultOf = ({ policy }: Config): string => policy?.default ?? "allow";
const withoutKeys = ({ auth }: Config): unknown => auth && { ...auth, keys: [] };

function serverChanges(before: readonly ServerConfig[], now: readonly ServerConfig[]): string {
  const was = new Map(before.map((server) => [server.name, server]));
  const is = new Map(now.map((server) => [server.name, server]));
  const changed = now.flatMap((server) => {
    const old = was.get(server.name);
    return old === undefined || isDeepStrictEqual(old, server) ? [] : [{ old, server }];
  });
  const groups: readonly (readonly [word: string, names: readonly string[]])[] = [
    ["added", [...is.keys()].filter((name) => !was.has(name))],
    ["removed", [...was.keys()].filter((name) => !is.has(name))],
    [
      "restarted",
      changed.filter(({ old, server }) => needsRestart(old, server)).map(({ server }) => server.name),
    ],
    [
      "changed without a restart",
      changed.filter(({ old, server }) => !needsRestart(old, server)).map(({ server }) => server.name),
    ],
  ];
  return groups
    .flatMap(([word, names]) => (names.length === 0 ? [] : [`${word} ${names.join(", ")}`]))
    .join(", ");
}

/** Whether a running server must be replaced: its transport or protocol settings differ. */
export function needsRestart(before: ServerConfig, now: ServerConfig): boolean {
  const essence = ({ transport, auth, protocol, lease, connectTimeoutMs, roots }: ServerConfig) => ({
    transport,
    auth,
    protocol,
    lease,
    connectTimeoutMs,
    roots,
  });
  return !isDeepStrictEqual(essence(before), essence(now));
}

function countChange(label: string, before: readonly unknown[], now: readonly unknown[]): readonly string[] {
  if (isDeepStrictEqual(before, now)) return [];
  return [
    before.length === now.length
      ? `${label}: ${now.length}, changed`
      : `${label}: ${now.length}, was ${before.length}`,
  ];
}
