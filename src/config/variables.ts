/** Variables in the text values of a config: `${VAR}`, `${VAR:-default}`, `${env:VAR}`, `${file:/path}`. */
import { DOLLAR, VARIABLE } from "./template.js";
import { readErrorMessage } from "./text-file.js";
import { type Fault, type Member, type Path, pathName, type Tree } from "./tree.js";

/** Where the values of variables come from. */
export interface VariableSources {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The text of a file named by `${file:…}`; throws when it cannot be read. */
  readonly readFile: (path: string) => string;
  /** How many characters all values may have together; what is used is taken off. Default: unlimited. */
  readonly budget?: { left: number };
  /** Names that a host gives a meaning of its own, such as `userHome`. */
  readonly builtIn?: ReadonlyMap<string, string>;
}

/** An expanded text, and what went wrong. */
export interface Expansion {
  readonly tree: Tree;
  readonly faults: readonly Fault[];
  /** What variables were expanded to, so that no message need ever show it. */
  readonly secrets: readonly string[];
}

const TOO_MUCH = "is where the variables of this file have more characters together than a config may have";

const NAME = /^[A-Za-z_]\w*$/;

/**
 * Expands every text value below `tree`, once: expanded values are not expanded again. Keys are unchanged. `path` is
 * the position of `tree` in its file, for messages.
 */
export function expandVariables(tree: Tree, path: Path, sources: VariableSources): Expansion {
  const faults: Fault[] = [];
  const secrets: string[] = [];

  const expandText = (text: string, offset: number, at: Path): string =>
    text.replace(VARIABLE, (found, inside: string | undefined) => {
      if (inside === undefined) return "${";
      if (found === `\${${DOLLAR}}`) return DOLLAR;
      const outcome = found.endsWith("}")
        ? resolve(inside, sources)
        : { problem: "has a variable whose } is missing" };
      if ("problem" in outcome) {
        faults.push({ offset, message: `${describePath(at)} ${outcome.problem}` });
        return "";
      }
      if (sources.budget !== undefined) sources.budget.left -= outcome.value.length;
      if ((sources.budget?.left ?? 0) < 0) {
        faults.push({ offset, message: `${describePath(at)} ${TOO_MUCH}` });
        return "";
      }
      secrets.push(outcome.value);
      return outcome.value;
    });

  const walk = (node: Tree, at: Path): Tree => {
    switch (node.kind) {
      case "array":
        return { ...node, items: node.items.map((item, index) => walk(item, [...at, index])) };
      case "object": {
        const members = new Map<string, Member>();
        for (const [key, member] of node.members) {
          members.set(key, { ...member, value: walk(member.value, [...at, key]) });
        }
        return { ...node, members };
      }
      case "scalar": {
        if (typeof node.value !== "string" || !node.value.includes("${")) return node;
        return { ...node, value: expandText(node.value, node.offset, at) };
      }
    }
  };

  return { tree: walk(tree, path), faults, secrets };
}

/** How a place is named in a message: by its server where it has one. */
export function describePath(path: Path): string {
  const [top, name, ...rest] = path;
  if ((top === "mcpServers" || top === "servers" || top === "context_servers") && name !== undefined) {
    const server = `server ${JSON.stringify(name)}`;
    return rest.length === 0 ? server : `${server}: ${pathName(rest)}`;
  }
  return path.length === 0 ? "the file" : pathName(path);
}

function resolve(inside: string, { env, readFile, builtIn }: VariableSources): Resolution {
  const [, scheme, target = ""] = /^(\w+):(?!-)(.*)$/s.exec(inside) ?? [];
  if (scheme === "file") {
    try {
      // A secret's file ends in a line break that is not part of the secret.
      return { value: readFile(target).replace(/\r?\n$/, "") };
    } catch (error) {
      const why = readErrorMessage(error);
      return { problem: `has a \${file:…} whose file ${JSON.stringify(target)} cannot be read: ${why}` };
    }
  }
  if (scheme === "input") {
    return {
      problem: `has an \${input:…}, which only VS Code can ask for; "cardea import" turns it into an environment variable`,
    };
  }
  if (scheme !== undefined && scheme !== "env")
    return { problem: `has a variable of an unknown kind, ${scheme}:` };

  const [, name = "", fallback] = /^(.*?)(?::-(.*))?$/s.exec(scheme === "env" ? target : inside) ?? [];
  const known = builtIn?.get(name);
  if (known !== undefined) return { value: known };
  if (!NAME.test(name))
    return { problem: `has a \${…} that names no variable; write $\${ for the characters themselves` };
  if (fallback?.includes("${") === true) {
    return { problem: `has a variable inside the default of ${name}; a default is plain text` };
  }
  const value = Object.hasOwn(env, name) ? env[name] : undefined;
  // As in a shell, ":-" also covers a variable that is set to nothing.
  if (fallback !== undefined) return { value: value === undefined || value === "" ? fallback : value };
  return value === undefined
    ? { problem: `needs the variable ${name}, which is not set and has no default` }
    : { value };
}

type Resolution = { readonly value: string } | { readonly problem: string };
