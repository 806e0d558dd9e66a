/** What commands would start or connect to with a config, as its text says it: for a person, and as a digest. */
import { createHash } from "node:crypto";
import { dirname } from "node:path";
import { namedFiles, type ReadNamedFile } from "./named-files.js";
import { channelsOf, type Section } from "./section.js";
import { URL_KEYS } from "./server-keys.js";
import { plainValue } from "./tree.js";
import { type WrittenServer, writtenServers, writtenTree } from "./written-servers.js";

/** The servers of a config that are not disabled. */
export interface StartPlan {
  /** A line for each: its name, its command or URL, and what it is given. Variables are not expanded. */
  readonly lines: readonly string[];
  /** Of everything that decides what is started, with which arguments and environment, and which URLs are connected to. */
  readonly digest: string;
}

/** Keys that decide what hosts see of a server, and when, not what is started. */
const HARMLESS: ReadonlySet<string> = new Set([
  ...["prefix", "tools", "prompts", "resources", "disabledTools", "required", "start", "lease", "protocol"],
  ...["timeout", "connectTimeout", "idleTimeout", "checks", "descriptions", "schemas"],
]);

/**
 * @param path of the config, absolute
 * @param sections of features
 * @param isNamable whether a value can be shown; the names of all others are
 */
export function startPlan(
  text: string,
  path: string,
  sections: readonly Section[],
  isNamable: (value: string) => boolean,
  read?: ReadNamedFile,
): StartPlan {
  const tree = writtenTree(text, path, sections);
  const readFile = namedFiles(dirname(path), read);
  const hash = createHash("sha256");
  const lines: string[] = [];
  if (tree === undefined) return { lines, digest: hash.digest("hex") };
  const placeKeys = [...URL_KEYS, ...channelsOf(sections).flatMap((channel) => channel.placeKeys)];
  for (const [name, server] of writtenServers(tree)) {
    lines.push(`${name}: ${describe(server, placeKeys, isNamable)}`);
    const facts = Object.entries(server).filter(([each]) => !HARMLESS.has(each));
    hash.update(JSON.stringify([name, sorted(facts), contentOf(server.envFile, readFile)]));
  }
  // Its values stand for variables of the servers.
  const variables = tree.members.get("envFile");
  if (variables !== undefined) hash.update(`${contentOf(plainValue(variables.value), readFile)}`);
  return { lines, digest: hash.digest("hex") };
}

/** The content of an env file, which is part of the environment. */
function contentOf(file: unknown, read: ReadNamedFile): string | null {
  try {
    return typeof file === "string" ? read(file) : null;
  } catch {
    // An unreadable file has no variables; when it can be read again, the digest is another one.
    return null;
  }
}

const sorted = (facts: readonly (readonly [string, unknown])[]) =>
  facts.toSorted(([one], [other]) => (one < other ? -1 : 1));

function describe(
  server: WrittenServer,
  placeKeys: readonly string[],
  isNamable: (value: string) => boolean,
): string {
  const { command, args, cwd, env, envFile, headers } = server;
  const words = [command, ...(Array.isArray(args) ? args : [])].filter((word) => typeof word === "string");
  const address = placeKeys.map((key) => server[key]).filter((part) => typeof part === "string");
  const parts = [
    ...(typeof cwd === "string" ? [`in ${cwd}`] : []),
    ...(typeof envFile === "string" ? [`with the variables of ${envFile}`] : []),
    ...named("with the variables", env, isNamable),
    ...named("with the headers", headers, isNamable),
  ];
  const what = words.length > 0 ? words.map(shown).join(" ") : address.join(" ");
  return parts.length === 0 ? what : `${what} (${parts.join("; ")})`;
}

/** A word with spaces in quotes, so that it cannot look like two. */
const shown = (word: string): string => (/^[^\s"'()]+$/.test(word) ? word : JSON.stringify(word));

/** `NAME`, and its value where it names a variable or is plainly no secret. */
function named(what: string, values: unknown, isNamable: (value: string) => boolean): readonly string[] {
  if (typeof values !== "object" || values === null || Object.keys(values).length === 0) return [];
  const all = Object.entries(values).map(([name, value]) => {
    const isShown = typeof value === "string" && (value.includes("${") || isNamable(value));
    return isShown ? `${name}=${shown(value)}` : name;
  });
  return [`${what} ${all.join(", ")}`];
}
