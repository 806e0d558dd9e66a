/** Every situation of the matrix, which cells of it cannot exist, and why. */
import type { HostKind } from "../host.js";
import { ASKED } from "./asked.js";
import type { Cell } from "./cell.js";
import { ENDED } from "./ended.js";
import { STATES } from "./states.js";

export interface Situation {
  /** As the issue calls it. */
  readonly key: string;
  /** What the host does, so that the name of a cell reads as a sentence. */
  readonly sentence: string;
  /**
   * `own`: a gateway and a server for this cell alone; `impatient`: one that waits for no answer for long. Default:
   * one that all cells of a host share, and that is as patient as people need.
   */
  readonly stage?: "own" | "impatient";
  /** The hosts for which that holds. Default: all. */
  readonly stageFor?: HostKind["era"];
  run(cell: Cell): Promise<void>;
  /** What comes nearest to it where the cell itself cannot exist. */
  readonly insteadForLegacyHosts?: { readonly sentence: string; run(cell: Cell): Promise<void> };
}

export const SITUATIONS: readonly Situation[] = [...ASKED, ...ENDED, ...STATES];

/** Cells that cannot exist, whatever the server: instead of each, something else is tested. */
export const ABSENT: readonly {
  readonly hosts: HostKind["era"];
  readonly situation: string;
  readonly reason: string;
}[] = ["replayed state", "stolen state", "tampered state"].map((situation) => ({
  hosts: "legacy",
  situation,
  reason:
    "A legacy host never sees a state: its request stays open while it is asked, and the state stays in the gateway. What it could bring twice, steal or change is an answer, by the id of the question.",
}));

export const isAbsent = (host: HostKind, { key }: Situation): boolean =>
  ABSENT.some(({ hosts, situation }) => hosts === host.era && situation === key);
