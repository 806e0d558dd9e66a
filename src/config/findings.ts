/** What has been found wrong in one file so far, and where. */
import type { z } from "zod";
import { faultsOf } from "./issues.js";
import { type Fault, keyOffset, type ObjectTree, type Path, plainValue, type Tree, treeAt } from "./tree.js";

/** Collects problems by path. */
export class Findings {
  readonly faults: Fault[];
  /** The file's tree, variables expanded. */
  readonly tree: ObjectTree;
  /** Values that something has been said of already: an alias of nothing, a variable that is not set. */
  readonly #reportedOffsets: ReadonlySet<number>;

  /** `faults` were found before the values were looked at. */
  constructor(tree: ObjectTree, faults: readonly Fault[]) {
    this.tree = tree;
    this.faults = [...faults];
    this.#reportedOffsets = new Set(faults.map(({ offset }) => offset));
  }

  /** Something wrong at `path`, or with its key `key`. */
  add(path: Path, message: string, key?: string): void {
    const offset = key === undefined ? treeAt(this.tree, path).offset : keyOffset(this.tree, path, key);
    this.faults.push({ offset, message });
  }

  /** The value of `tree` in the schema's shape, defaults filled in; `undefined` when it has not that shape. */
  check<T>(schema: z.ZodType<T>, tree: Tree, path: Path): T | undefined {
    const parsed = schema.safeParse(plainValue(tree));
    if (parsed.success) return parsed.data;
    const faults = faultsOf(parsed.error.issues, schema, this.tree, path);
    this.faults.push(...faults.filter(({ offset }) => !this.#reportedOffsets.has(offset)));
    return undefined;
  }

  /** Whether something has been said of this value already, so that it may not be what was meant. */
  isReported(path: Path): boolean {
    return this.#reportedOffsets.has(treeAt(this.tree, path).offset);
  }
}
