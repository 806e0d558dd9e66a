/** Parses the text of a config file and replaces its variables. */
import { dirname, extname, resolve } from "node:path";
import { expandFile, hostVariables, variablesOfFile, withVariables } from "./expand.js";
import { Findings } from "./findings.js";
import { isHostFile, stripHostFile, withImportHint } from "./host-config-file.js";
import { namedFiles, type ReadNamedFile } from "./named-files.js";
import type { ReadOptions } from "./read.js";
import { readJson } from "./read-json.js";
import { readYaml } from "./read-yaml.js";
import type { Fault, ParseResult } from "./tree.js";

/** A file that was parsed, with its variables replaced. */
export interface OpenedFile {
  readonly path: string;
  readonly folder: string;
  readonly findings: Findings;
  /** The omitted parts of a host's own file. */
  readonly warnings: readonly Fault[];
  /** What variables were replaced by. */
  readonly secrets: readonly string[];
  /** Reads a file that becomes part of the config. */
  readonly readFile: ReadNamedFile;
  /** Reads any other file. */
  readonly readDocument: ReadNamedFile;
  /** All that are part of the config. */
  readonly configFiles: ReadonlySet<string>;
  /** Adds that the file may be one of a host, to be imported. */
  readonly withHint: (faults: readonly Fault[]) => readonly Fault[];
}

/** The file; only its faults if it is not one object. */
export function openFile(
  source: string,
  file: string,
  options: ReadOptions,
): OpenedFile | { readonly faults: readonly Fault[] } {
  const { tree: whole, faults } = parse(source, file);
  if (whole === undefined) return { faults };
  if (whole.kind !== "object")
    return { faults: [{ offset: whole.offset, message: "a config is an object with keys and values" }] };

  const path = resolve(options.cwd ?? process.cwd(), file);
  const folder = dirname(path);
  const host = isHostFile(file, whole);
  const { tree, warnings } = host ? stripHostFile(whole, options.sections) : { tree: whole, warnings: [] };
  const readDocument = namedFiles(folder, options.readFile);
  const configFiles = new Set([path]);
  const readFile: ReadNamedFile = (named, maxBytes) => {
    configFiles.add(resolve(folder, named));
    return readDocument(named, maxBytes);
  };
  const variables = host ? { values: {}, faults: [] } : variablesOfFile(tree, readFile);
  const expanded = expandFile(tree, {
    env: withVariables(options.env ?? process.env, variables.values),
    readFile,
    ...(host && { builtIn: hostVariables(folder) }),
  });
  const found = [...faults, ...variables.faults, ...expanded.faults];
  return {
    findings: new Findings(expanded.tree, found, expanded.serverFaults),
    ...{ path, folder, warnings, secrets: expanded.secrets, readFile, readDocument, configFiles },
    withHint: (all) => (host ? all : withImportHint(all, file, whole)),
  };
}

const IS_TOML = `a config is JSON or YAML, and TOML is a host's: "cardea import FILE" turns Codex's into Cardea's`;

/** By the extension; without a known one, by the first character. */
export function parse(text: string, file: string): ParseResult {
  const extension = extname(file).toLowerCase();
  if (extension === ".yaml" || extension === ".yml") return readYaml(text);
  if (extension === ".toml") return { faults: [{ offset: 0, message: IS_TOML }] };
  if (extension === ".json" || extension === ".jsonc" || /^\s*[{[/]/.test(text)) return readJson(text);
  return readYaml(text);
}
