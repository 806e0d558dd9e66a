/** The features of each legacy revision: the only place where revisions are compared. */
import { LEGACY_REVISIONS, type LegacyRevision } from "../../wire/names.js";

/** The features of one legacy revision. */
export interface Revision {
  readonly name: LegacyRevision;
  /** Arrays of messages (2025-03-26, basic/index, "Batching"; gone again in 2025-06-18). */
  readonly batches: boolean;
  /** The server capability `completions`; before it, support could only be found out by trying. */
  readonly completions: boolean;
  readonly audio: boolean;
  readonly resourceLinks: boolean;
  /** `structuredContent` and `outputSchema`, objects only. */
  readonly structured: boolean;
  /** `elicitation/create`, at first as a form without a `mode`. */
  readonly elicitation: boolean;
  /** Elicitation by `mode`, also of a URL; error -32042; enums with titles; several choices. */
  readonly elicitationModes: boolean;
  /** `sampling.tools` and `sampling.context`. */
  readonly samplingTools: boolean;
  readonly tasks: boolean;
  /** An event without data opens each stream, with an id to resume from and a `retry`. */
  readonly primes: boolean;
}

const since = (name: LegacyRevision, first: LegacyRevision): boolean => name >= first;

const revisionOf = (name: LegacyRevision): Revision => ({
  name,
  batches: name === "2025-03-26",
  completions: since(name, "2025-03-26"),
  audio: since(name, "2025-03-26"),
  resourceLinks: since(name, "2025-06-18"),
  structured: since(name, "2025-06-18"),
  elicitation: since(name, "2025-06-18"),
  elicitationModes: since(name, "2025-11-25"),
  samplingTools: since(name, "2025-11-25"),
  tasks: since(name, "2025-11-25"),
  primes: since(name, "2025-11-25"),
});

const REVISIONS: ReadonlyMap<string, Revision> = new Map(
  LEGACY_REVISIONS.map((name) => [name, revisionOf(name)]),
);

/** The one asked for when it is known, else the newest (2025-11-25, basic/lifecycle, "Version Negotiation"). */
export const negotiate = (requested: string): Revision =>
  REVISIONS.get(requested) ?? revisionOf(LEGACY_REVISIONS[0]);
