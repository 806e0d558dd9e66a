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
  readonly #reportedOffsets: ReadonlySet<number>;

  /** `faults` were found before the values were checked. */
  constructor(tree: ObjectTree, faults: readonly Fault[]) {
    this.tree = tree;
    this.faults = [...faults];
    this.#reportedOffsets = new Set(faults.map(({ offset }) => offset));
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
