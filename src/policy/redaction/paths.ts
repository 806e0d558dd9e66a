/** Paths such as `users.*.password`, followed together through one value. */

/** Where some paths have led to. */
interface PathNode {
  readonly members: Map<string, PathNode>;
  /** Behind `*`. */
  any: PathNode | undefined;
  /** Whether a path ends here. */
  ends: boolean;
}

/** Where all paths have led to that lead to one value; empty where none does. */
export type PathNodes = readonly PathNode[];

const NOWHERE: PathNodes = [];

/** The paths at the value that they are written for. */
export function compilePaths(paths: readonly string[]): PathNodes {
  if (paths.length === 0) return NOWHERE;
  const root = makeNode();
  for (const path of paths) {
    let node = root;
    for (const step of path.split(".")) node = step === "*" ? anyOf(node) : memberOf(node, step);
    node.ends = true;
  }
  return [root];
}

/** Where the paths lead that go on with this member or index. */
export function stepped(nodes: PathNodes, key: string): PathNodes {
  if (nodes.length === 0) return NOWHERE;
  const next = nodes.flatMap(({ members, any }) => [members.get(key) ?? [], any ?? []].flat());
  return next.length === 0 ? NOWHERE : next;
}

/** Whether a path ends here, so that all of the value is meant. */
export const isMeant = (nodes: PathNodes): boolean => nodes.some(({ ends }) => ends);

const makeNode = (): PathNode => ({ members: new Map(), any: undefined, ends: false });

function anyOf(node: PathNode): PathNode {
  node.any ??= makeNode();
  return node.any;
}

function memberOf(node: PathNode, step: string): PathNode {
  const known = node.members.get(step) ?? makeNode();
  node.members.set(step, known);
  return known;
}
