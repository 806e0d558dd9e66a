/** What has been found wrong in one file so far, and where. */
import type { z } from "zod";
import { faultsOf } from "./issues.js";
import { type Fault, keyOffset, type ObjectTree, type Path, plain, type Tree, treeAt } from "./tree.js";

export class Findings {
  readonly faults: Fault[];
  /** The file's tree, variables expanded. */
  readonly tree: ObjectTree;
  readonly #unresolved: ReadonlySet<Tree>;

  constructor(tree: ObjectTree, faults: readonly Fault[], unresolved: ReadonlySet<Tree>) {
    this.tree = tree;
    this.faults = [...faults];
    this.#unresolved = unresolved;
  }

  /** Something wrong at `path`, or with its key `key`. */
  add(path: Path, message: string, key?: string): void {
    const offset = key === undefined ? treeAt(this.tree, path).offset : keyOffset(this.tree, path, key);
    this.faults.push({ offset, message });
  }

  /** The value of `tree` in the schema's shape, defaults filled in; `undefined` when it has not that shape. */
  check<T>(schema: z.ZodType<T>, tree: Tree, path: Path): T | undefined {
    const parsed = schema.safeParse(plain(tree));
    if (parsed.success) return parsed.data;
    const faults = faultsOf(parsed.error.issues, schema, this.tree, path);
    this.faults.push(...faults.filter(({ at }) => !this.isUnresolved(at)));
    return undefined;
  }

  /** Whether a variable of this value could not be expanded, which has been said already. */
  isUnresolved(path: Path): boolean {
    return this.#unresolved.has(treeAt(this.tree, path));
  }
}
