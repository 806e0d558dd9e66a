/** Reads the servers out of any text that holds some: a host's file, a registry's `server.json`, a piece of a README. */
import { parse } from "../../config/open-file.js";
import { type Fault, type ParseResult, plainValue } from "../../config/tree.js";
import { type ImportOptions, importHostFile } from "./host-file.js";
import type { Imported } from "./imported.js";
import { readToml } from "./read-toml.js";
import { importRegistryEntry, registryEntry } from "./registry.js";

/** What an import found, and what is wrong with the text. Without `imported` nothing could be read. */
export interface ImportResult {
  readonly imported?: Imported;
  readonly faults: readonly Fault[];
}

/**
 * @param file its path; absent when the text came from a pipe
 */
export function importText(
  text: string,
  file: string | undefined,
  options: ImportOptions = {},
): ImportResult {
  const { tree, faults } = parseHostText(text, file);
  if (tree?.kind !== "object") {
    return { faults: faults.length > 0 ? faults : [{ offset: 0, message: "a host's config is an object" }] };
  }
  const entry = registryEntry(plainValue(tree));
  const imported = entry === undefined ? importHostFile(tree, file, options) : importRegistryEntry(entry);
  return { faults, ...(imported !== undefined && { imported }) };
}

function parseHostText(text: string, file: string | undefined): ParseResult {
  const isToml =
    file === undefined ? /^[ \t]*\[mcp_servers[.\]]/m.test(text) : file.toLowerCase().endsWith(".toml");
  if (isToml) return readToml(text);
  // A README often shows `"mcpServers": { … }` without the braces around it.
  if (/^\s*"[\w.]+"\s*:\s*\{/.test(text)) return parse(`{${text.replace(/,\s*$/, "")}}`, file ?? "");
  return parse(text, file ?? "");
}
