/** A config file as a tree in which every key and value has its position in the text. */

/** A parsed document whose parts know their positions. */
export type Tree = ObjectTree | ArrayTree | ScalarTree;

/** An object with its members in order. */
export interface ObjectTree {
  readonly kind: "object";
  readonly offset: number;
  /** A Map, so that a key such as `__proto__` is a key like any other. */
  readonly members: ReadonlyMap<string, Member>;
}

/** One member of an object. */
export interface Member {
  readonly keyOffset: number;
  readonly value: Tree;
}

interface ArrayTree {
  readonly kind: "array";
  readonly offset: number;
  readonly items: readonly Tree[];
}

interface ScalarTree {
  readonly kind: "scalar";
  readonly offset: number;
  readonly value: string | number | boolean | null;
}

/** Something wrong at one place of the text, as a plain sentence that never quotes a value. */
export interface Fault {
  readonly offset: number;
  readonly message: string;
}

/** What came of reading a text: a tree, or what is wrong with it; both when only some keys are wrong. */
export interface ParseResult {
  readonly tree?: Tree;
  readonly faults: readonly Fault[];
}

/** Keys and indexes from the root. */
export type Path = readonly (string | number)[];

/** No real config comes near it, and everything that walks a tree may recurse. */
export const MAX_DEPTH = 64;

/** More values than this are in no config, and everything that checks one takes time for each. */
export const MAX_VALUES = 100_000;

/** How many problems of a file are reported: the first ones. */
export const MAX_FAULTS = 1_000;

/** The tree at `path`, or as far down that path as there is one. */
export function treeAt(tree: Tree, path: Path): Tree {
  const [step, ...rest] = path;
  if (step === undefined) return tree;
  const next = childOf(tree, step);
  return next === undefined ? tree : treeAt(next, rest);
}

/** Where the key `key` of the object at `path` stands; where the object stands when it has no such key. */
export function keyOffset(tree: Tree, path: Path, key: string): number {
  const owner = treeAt(tree, path);
  const member = owner.kind === "object" ? owner.members.get(key) : undefined;
  return member?.keyOffset ?? owner.offset;
}

/** The plain value of a tree. A key named `__proto__` is left out: as a setting it can mean nothing. */
export function plainValue(tree: Tree): unknown {
  switch (tree.kind) {
    case "scalar":
      return tree.value;
    case "array":
      return tree.items.map(plainValue);
    case "object": {
      const object: Record<string, unknown> = {};
      for (const [key, { value }] of tree.members) if (key !== "__proto__") object[key] = plainValue(value);
      return object;
    }
  }
}

/** A dotted name for people: `mcpServers.files.args[1]`. */
export function pathName(path: Path): string {
  return path.reduce<string>((name, step) => {
    if (typeof step === "number") return `${name}[${step}]`;
    const word = /^[\w$-]+$/.test(step) ? step : JSON.stringify(step);
    return name === "" ? word : `${name}.${word}`;
  }, "");
}

function childOf(tree: Tree, step: string | number): Tree | undefined {
  if (tree.kind === "array") return typeof step === "number" ? tree.items[step] : undefined;
  return tree.kind === "object" ? tree.members.get(String(step))?.value : undefined;
}
