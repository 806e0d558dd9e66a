/** The config of a server whose entry is wrong: what could be read of it, and what is wrong. */
import type { MisconfiguredServer, NameFilter } from "./config.js";
import type { Findings } from "./findings.js";
import { formatProblem, type Problem } from "./problem.js";
import { serverSchema } from "./server-schema.js";
import { type Path, plainValue, treeAt } from "./tree.js";
import { describePath } from "./variables.js";

/** The keys that rules, profiles and other servers depend on. */
const KEPT_KEYS = [
  "prefix",
  "required",
  "tools",
  "disabledTools",
  "prompts",
  "resources",
  "overrides",
] as const;

/**
 * What is wrong with a server, for hosts: without the place in the file, and as the rest of a sentence that begins with the
 * server.
 */
export function reasonOf({ name, problems }: Pick<MisconfiguredServer, "name" | "problems">): string {
  const [first, ...others] = problems.map(({ message }) => withoutName(message, name));
  const more = others.length === 1 ? "1 more problem" : `${others.length} more problems`;
  return `${first}${others.length === 0 ? "" : `; and ${more}`}`;
}

/** How many problems of one server a sentence has. */
const PROBLEMS_SHOWN = 5;

/** What is wrong with a server, for operators: each problem with its place in the file. */
export function placedReasonOf({ problems }: Pick<MisconfiguredServer, "problems">): string {
  const shown = problems.slice(0, PROBLEMS_SHOWN).map(formatProblem).join("; ");
  const more = problems.length - PROBLEMS_SHOWN;
  return more > 0 ? `${shown}; and ${more} more` : shown;
}

function withoutName(message: string, name: string): string {
  const start = describePath(["mcpServers", name]);
  if (!message.startsWith(start)) return message;
  const rest = message.slice(start.length);
  return rest.startsWith(": ") ? rest.slice(2) : `it${rest}`;
}

/** A placeholder for times, which nothing waits for. */
const NO_TIME_MS = 0;

/**
 * @param path of its entry
 * @param problems of the entry, in file order
 */
export function misconfiguredServer(
  findings: Findings,
  path: Path,
  problems: readonly Problem[],
): MisconfiguredServer {
  const name = String(path.at(-1));
  const { prefix, required, tools, disabledTools, prompts, resources, overrides } = readableMembers(
    findings,
    path,
  );
  const filter: NameFilter = Array.isArray(tools) ? { allow: tools, deny: [] } : tools;
  return {
    name,
    transport: { kind: "unknown" },
    problems,
    prefix: prefix ?? name,
    protocol: "auto",
    lease: "shared",
    start: "eager",
    idleTimeoutMs: NO_TIME_MS,
    required,
    timeoutMs: NO_TIME_MS,
    connectTimeoutMs: NO_TIME_MS,
    tools: { allow: filter.allow, deny: [...filter.deny, ...disabledTools] },
    prompts,
    resources,
    ...(overrides !== undefined && { overrides }),
    features: {},
  };
}

/** Each kept key with its value if that is valid, otherwise with its default. */
function readableMembers(findings: Findings, path: Path) {
  const entry = treeAt(findings.tree, path);
  const readable = KEPT_KEYS.flatMap((key) => {
    const member = entry.kind === "object" ? entry.members.get(key) : undefined;
    // A variable that is not set leaves nothing of a text.
    if (member === undefined || findings.isReported([...path, key])) return [];
    const value = plainValue(member.value);
    return serverSchema.shape[key].safeParse(value).success ? [[key, value] as const] : [];
  });
  return serverSchema.parse(Object.fromEntries(readable));
}
