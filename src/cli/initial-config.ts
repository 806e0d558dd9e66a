/** The text of a new config: the servers, and what a person will want to know of the rest. */
import { editConfig } from "../config/edit.js";
import type { ImportedServer, NeededVariable } from "../config/import/imported.js";

/** The text, in the form that the extension of `file` names; `.json` has no comments. */
export async function initialConfig(
  servers: ReadonlyMap<string, ImportedServer>,
  variables: readonly NeededVariable[],
  sources: readonly string[],
  file: string,
): Promise<string> {
  const needed = variables.map(
    ({ name, about }) => `  ${name}${about === undefined ? "" : `: ${oneLine(about)}`}`,
  );
  const comments = [
    'The config of Cardea, which config/reference.md in the package describes; "cardea check" says what is wrong with it.',
    '"cardea add NAME -- npx -y some-package" adds a server, "cardea add NAME https://host/mcp" one at a URL.',
    ...(sources.length > 0 ? [`The servers are from ${oneLine(sources.join(", "))}.`] : []),
    ...(needed.length > 0 ? ["Environment variables that must be set:", ...needed] : []),
  ];
  if (/\.ya?ml$/i.test(file)) {
    const { stringify } = await import("yaml");
    const body = stringify({ mcpServers: Object.fromEntries(servers) }, { lineWidth: 0 });
    return `${comments.map((line) => `# ${line}\n`).join("")}${body}`;
  }
  const edits = [...servers].map(([name, server]) => ({ path: ["mcpServers", name], value: server }));
  const body = editConfig('{\n  "mcpServers": {}\n}\n', "cardea.jsonc", edits);
  return /\.json$/i.test(file) ? body : `${comments.map((line) => `// ${line}\n`).join("")}${body}`;
}

const oneLine = (text: string): string => text.replace(/\s+/g, " ");
