/** Paths such as `users.*.password`, followed together through one value. */

/** Where some paths have led to. */
interface PathNode {
  readonly members: Map<string, PathNode>;
  /** Behind `*`. */
  any: PathNode | undefined;
  /** Whether a path ends here. */
  isEnd: boolean;
  /** It and no other. */
  readonly alone: PathNodes;
}

/** Where all paths have led to that lead to one value; empty where none does. */
export type PathNodes = readonly PathNode[];

const NO_NODES: PathNodes = [];

/** The paths at the value that they are written for. */
export function compilePaths(paths: readonly string[]): PathNodes {
  if (paths.length === 0) return NO_NODES;
  const root = makeNode();
  for (const path of paths) {
    let node = root;
    for (const step of path.split(".")) node = step === "*" ? anyOf(node) : memberOf(node, step);
    node.isEnd = true;
  }
  return [root];
}

/** Where the paths lead that go on with this member or index. */
export function descend(nodes: PathNodes, key: string | number): PathNodes {
  const [only] = nodes;
  if (only === undefined) return NO_NODES;
  // Nearly always there is one, and then nothing is made but where it leads to two.
  if (nodes.length === 1) return ledFrom(only, key);
  const next = nodes.flatMap((node) => ledFrom(node, key));
  return next.length === 0 ? NO_NODES : next;
}

function ledFrom({ members, any }: PathNode, key: string | number): PathNodes {
  const member = members.size === 0 ? undefined : members.get(String(key));
  if (member === undefined) return any === undefined ? NO_NODES : any.alone;
  return any === undefined ? member.alone : [member, any];
}

/** Whether a path ends here, so that all of the value is meant. */
export const isTarget = (nodes: PathNodes): boolean => nodes.some(({ isEnd }) => isEnd);

function makeNode(): PathNode {
  const alone: PathNode[] = [];
  const node = { members: new Map<string, PathNode>(), any: undefined, isEnd: false, alone };
  alone.push(node);
  return node;
}

function anyOf(node: PathNode): PathNode {
  node.any ??= makeNode();
  return node.any;
}

function memberOf(node: PathNode, step: string): PathNode {
  const known = node.members.get(step) ?? makeNode();
  node.members.set(step, known);
  return known;
}
