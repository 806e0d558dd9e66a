/** What a feature may decide about the lists of one server before they are merged: it holds entries back, or shows other ones in their place. */
import type { JsonObject } from "../wire/json.js";
import type { GatewayError } from "./errors.js";
import type { ListKind } from "./lists.js";
import type { ServerFacts } from "./upstream.js";

/** What is admitted of one server's lists, with one config. */
export interface ListAdmission {
  /**
   * The entries that the catalog merges in place of `items`, which the server sent now or in an earlier run; the same array where
   * all of them are. Called when a list is loaded, restored or inherited, never for a call.
   */
  admitted(kind: ListKind, items: readonly JsonObject[]): readonly JsonObject[];
  /** Does the work of `admitted` ahead, in steps between which calls are served. Absent: `admitted` is cheap. */
  prepare?(kind: ListKind, items: readonly JsonObject[]): Generator<void, void, void>;
  /** What hosts learn of the server; the same object where nothing is replaced. Called often. */
  admittedFacts(facts: ServerFacts): ServerFacts;
  /** Absent: no target is held. */
  readonly held?: HeldEntries;
  /** Calls `changed` when it would decide otherwise than before. The returned function ends that. */
  watch(changed: () => void): () => void;
}

/** The targets of one server whose calls are refused. */
export interface HeldEntries {
  /** The names of those that no list has; the same array until that changes. */
  unlisted(kind: "tools" | "prompts"): readonly string[];
  /** Why a target may not be used, by the server's own name or URI; undefined if it may. Called for each call. */
  refusal(kind: ListKind, own: string): GatewayError | undefined;
}

/** Several as one, the first the innermost; undefined if there is none. */
export function composedAdmissions(admissions: readonly ListAdmission[]): ListAdmission | undefined {
  const [first, second] = admissions;
  if (first === undefined || second === undefined) return first;
  const held = admissions.flatMap((each) => each.held ?? []);
  return {
    *prepare(kind, items) {
      for (const each of admissions) if (each.prepare !== undefined) yield* each.prepare(kind, items);
    },
    admitted: (kind, items) => admissions.reduce((left, each) => each.admitted(kind, left), items),
    admittedFacts: (facts) => admissions.reduce((left, each) => each.admittedFacts(left), facts),
    ...(held.length > 0 && { held: composedHeld(held) }),
    watch(changed) {
      const ends = admissions.map((each) => each.watch(changed));
      return () => {
        for (const end of ends) end();
      };
    },
  };
}

function composedHeld(all: readonly HeldEntries[]): HeldEntries {
  const joined = new Map<
    string,
    { readonly parts: readonly (readonly string[])[]; readonly names: readonly string[] }
  >();
  return {
    unlisted(kind) {
      const parts = all.map((each) => each.unlisted(kind));
      const known = joined.get(kind);
      if (known?.parts.every((part, at) => part === parts[at]) === true) return known.names;
      const names = [...new Set(parts.flat())];
      joined.set(kind, { parts, names });
      return names;
    },
    refusal(kind, own) {
      for (const each of all) {
        const refusal = each.refusal(kind, own);
        if (refusal !== undefined) return refusal;
      }
      return undefined;
    },
  };
}
