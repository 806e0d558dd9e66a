/** The problems of one file so far, with their positions. */
import type { z } from "zod";
import { faultsOf } from "./issues.js";
import { type Fault, keyOffset, type ObjectTree, type Path, plainValue, type Tree, treeAt } from "./tree.js";

/** Collects problems by path. */
export class Findings {
  readonly faults: Fault[];
  /** The file's tree, variables expanded. */
  readonly tree: ObjectTree;
  /** Values that already have a problem: an undefined alias, an unset variable. */
  #reportedOffsets: ReadonlySet<number>;
  readonly #ofServers = new Map<string, Findings>();

  /**
   * `faults` were found before the values were checked; `serverFaults` those that concern one server only, by its name.
   */
  constructor(
    tree: ObjectTree,
    faults: readonly Fault[],
    serverFaults: ReadonlyMap<string, readonly Fault[]> = new Map(),
  ) {
    this.tree = tree;
    this.faults = [...faults];
    const all = [...faults, ...[...serverFaults.values()].flat()];
    this.#reportedOffsets = new Set(all.map(({ offset }) => offset));
    for (const [name, own] of serverFaults) this.#ofServers.set(name, this.#with(own));
  }

  /** The problems that concern this server only; the faults of the file are not among them. */
  ofServer(name: string): Findings {
    let own = this.#ofServers.get(name);
    if (own === undefined) {
      own = this.#with([]);
      this.#ofServers.set(name, own);
    }
    return own;
  }

  /** Findings of a part of the file, which also knows what is reported elsewhere. */
  #with(faults: readonly Fault[]): Findings {
    const own = new Findings(this.tree, faults);
    // Shared: there may be thousands of servers, each with a problem.
    own.#reportedOffsets = this.#reportedOffsets;
    return own;
  }

  /** The problems of all servers, each of which concerns one server only. */
  get serverFaults(): readonly Fault[] {
    return [...this.#ofServers.values()].flatMap(({ faults }) => faults);
  }

  /** A problem at `path`, or with its key `key`. */
  add(path: Path, message: string, key?: string): void {
    const offset = key === undefined ? treeAt(this.tree, path).offset : keyOffset(this.tree, path, key);
    this.faults.push({ offset, message });
  }

  /** The value of `tree` in the schema's shape, with defaults; `undefined` if it has another shape. */
  check<T>(schema: z.ZodType<T>, tree: Tree, path: Path): T | undefined {
    const parsed = schema.safeParse(plainValue(tree));
    if (parsed.success) return parsed.data;
    const faults = faultsOf(parsed.error.issues, schema, this.tree, path);
    for (const fault of faults) if (!this.#reportedOffsets.has(fault.offset)) this.faults.push(fault);
    return undefined;
  }

  /** Whether this value already has a problem, so that it may not be as intended. */
  isReported(path: Path): boolean {
    return this.#reportedOffsets.has(treeAt(this.tree, path).offset);
  }
}
