/** The result of an import: servers in Cardea's form, and notes for the person. */
import { uriPrefix } from "../../config/collisions.js";

/** One server as it will stand in the file; only keys of the config's own schema. */
export type ImportedServer = Readonly<Record<string, unknown>>;

/** An environment variable that the servers need to be set. */
export interface NeededVariable {
  readonly name: string;
  readonly about?: string;
  /** Whether its value is secret, whatever its name. */
  readonly isSecret?: boolean;
  /** Whether there is a default. */
  readonly isOptional?: boolean;
}

/** A host's config as Cardea's. */
export interface Imported {
  readonly servers: ReadonlyMap<string, ImportedServer>;
  readonly variables: readonly NeededVariable[];
  /** What could not be carried over, as plain sentences. */
  readonly notes: readonly string[];
}

/** A variable's name made of whatever a host calls it: `github-token` becomes `GITHUB_TOKEN`. */
export function variableName(text: string): string {
  const name = text
    .replace(/([a-z])([A-Z])/g, "$1_$2")
    .replace(/\W+/g, "_")
    .replace(/^_+|_+$/g, "")
    .toUpperCase();
  return /^[A-Z_]/.test(name) ? name : `V_${name}`;
}

/** The same, each with a unique prefix: an import must be a valid config. */
export function withUniquePrefixes(
  servers: ReadonlyMap<string, ImportedServer>,
): ReadonlyMap<string, ImportedServer> {
  const taken = new Map<string, true>();
  return new Map(
    [...servers].map(([name, server]) => {
      const { prefix: given } = server;
      const wanted = typeof given === "string" ? given : name;
      const free = freeName(uriPrefix(wanted), taken);
      if (wanted !== "") taken.set(free, true);
      const isTaken = wanted !== "" && free !== uriPrefix(wanted);
      return [name, isTaken ? { ...server, prefix: free } : server];
    }),
  );
}

/** The first of `name`, `name-2`, `name-3` … that is free. */
export function freeName(name: string, taken: ReadonlyMap<string, unknown>): string {
  let free = name;
  for (let count = 2; taken.has(free); count += 1) free = `${name}-${count}`;
  return free;
}
