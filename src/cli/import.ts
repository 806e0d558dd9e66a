/** `cardea import`: turns a host's config into Cardea's and prints it. */
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { text as readAll } from "node:stream/consumers";
import { importHostFile } from "../config/import/host-file.js";
import { type Imported, withUniquePrefixes } from "../config/import/imported.js";
import { importRegistryEntry, registryEntry } from "../config/import/registry.js";
import { readErrorMessage } from "../config/load.js";
import { formatProblem, SourcePositions } from "../config/problem.js";
import { parse, readConfig } from "../config/read.js";
import { plainValue } from "../config/tree.js";
import { type CommandContext, type Log, write } from "./command-context.js";
import { EXIT } from "./exit.js";

/** Prints a host's config as Cardea's. Returns the exit code. */
export async function importConfig(file: string, shell: CommandContext): Promise<number> {
  const log = await shell.openLog();
  const name = file === "-" ? "standard input" : file;
  if (/\.toml$/i.test(file)) {
    log.error(
      { file: name },
      `${name} is TOML, which is not read here; write its servers as JSON under "mcpServers"`,
    );
    return EXIT.config;
  }
  const source = await readSource(file, shell, log);
  if (source === undefined) return EXIT.failed;
  const { tree, faults } = parse(source, file === "-" ? "" : file);
  const places = new SourcePositions(name, source);
  if (tree?.kind !== "object") {
    const found = faults.length > 0 ? faults : [{ offset: 0, message: "a host's config is an object" }];
    for (const problem of places.problems(found)) log.error({}, formatProblem(problem));
    return EXIT.config;
  }
  for (const problem of places.problems(faults)) log.warn({}, formatProblem(problem));
  const entry = registryEntry(plainValue(tree));
  const imported =
    entry === undefined
      ? importHostFile(tree, file === "-" ? undefined : resolve(shell.cwd, file))
      : importRegistryEntry(entry);
  if (imported === undefined) {
    log.error({ file: name }, `no servers are to be found in ${name}`);
    return EXIT.config;
  }
  for (const note of imported.notes) log.warn({}, note);
  const output = format(imported, name);
  warnOfUnsupported(output, log);
  await write(shell.stdout, output);
  return EXIT.done;
}

async function readSource(file: string, shell: CommandContext, log: Log): Promise<string | undefined> {
  try {
    const source =
      file === "-" ? await readAll(shell.stdin) : await readFile(resolve(shell.cwd, file), "utf8");
    return source.replace(/^\uFEFF/, "");
  } catch (error) {
    log.error({ file }, `${file} cannot be read: ${readErrorMessage(error)}`);
    return undefined;
  }
}

function format({ servers: found, variables }: Imported, name: string): string {
  const servers = withUniquePrefixes(found);
  const comments = [
    `// Imported from ${oneLine(name)}.`,
    ...(variables.length > 0 ? ["// Environment variables that must be set:"] : []),
    ...variables.map(
      ({ name: variable, about }) => `//   ${variable}${about === undefined ? "" : `: ${oneLine(about)}`}`,
    ),
  ];
  return `${comments.join("\n")}\n${JSON.stringify({ mcpServers: Object.fromEntries(servers) }, null, 2)}\n`;
}

/** What the host took and Cardea will not; every variable counts as set. */
function warnOfUnsupported(output: string, log: Log): void {
  const anything = new Proxy<Record<string, string>>(
    {},
    {
      get: () => "https://example.com",
      getOwnPropertyDescriptor: () => ({ configurable: true, enumerable: true, value: "" }),
    },
  );
  const loaded = readConfig(output, "the imported config", { env: anything, readFile: () => "" });
  if (!loaded.ok) for (const problem of loaded.problems) log.warn({}, formatProblem(problem));
}

const oneLine = (text: string): string => text.replace(/\s+/g, " ");
