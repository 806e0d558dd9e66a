/** The text of a new config: the servers, and what a person will want to know of the rest. */
import { editConfig } from "../config/edit.js";
import type { ImportedServer, NeededVariable } from "../config/import/imported.js";

/** `isPlain` leaves the comments out, for `.json`. */
export function initialConfig(
  servers: ReadonlyMap<string, ImportedServer>,
  variables: readonly NeededVariable[],
  sources: readonly string[],
  isPlain: boolean,
): string {
  const edits = [...servers].map(([name, server]) => ({ path: ["mcpServers", name], value: server }));
  const body = editConfig('{\n  "mcpServers": {}\n}\n', "cardea.jsonc", edits);
  if (isPlain) return body;
  const needed = variables.map(
    ({ name, about }) => `//   ${name}${about === undefined ? "" : `: ${oneLine(about)}`}`,
  );
  const lines = [
    '// The config of Cardea, which config/reference.md in the package describes; "cardea check" says what is wrong with it.',
    '// "cardea add NAME -- npx -y some-package" adds a server, "cardea add NAME https://host/mcp" one at a URL.',
    ...(sources.length > 0 ? [`// The servers are from ${oneLine(sources.join(", "))}.`] : []),
    ...(needed.length > 0 ? ["// Environment variables that must be set:", ...needed] : []),
  ];
  return `${lines.join("\n")}\n${body}`;
}

const oneLine = (text: string): string => text.replace(/\s+/g, " ");
