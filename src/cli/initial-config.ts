/** The text of a new config: the servers, and comments on the other settings. */
import { editConfig } from "../config/edit.js";
import type { ImportedServer, NeededVariable } from "../config/import/imported.js";

/** Commands that download a package or image that is not cached. */
const FETCHING = /(^|[\\/])(npx|bunx|pnpx|uvx|pipx|docker|podman)(\.(cmd|exe))?$/i;
/** Three packages fetched at once on two busy cores took 18 s; hosts wait 60 s for a list. */
const FETCHED_STARTUP_WAIT = "45s";

/** The text, in the format of `file`'s extension; `.json` has no comments. */
export async function initialConfig(
  servers: ReadonlyMap<string, ImportedServer>,
  variables: readonly NeededVariable[],
  sources: readonly string[],
  file: string,
): Promise<string> {
  const needed = variables.map(
    ({ name, about }) => `  ${name}${about === undefined ? "" : `: ${oneLine(about)}`}`,
  );
  const isFetched = [...servers.values()].some(
    ({ command }) => typeof command === "string" && FETCHING.test(command),
  );
  const settings = isFetched ? { startupWait: FETCHED_STARTUP_WAIT } : {};
  const comments = [
    'The config of Cardea, which config/reference.md in the package describes; "cardea check" says what is wrong with it.',
    '"cardea add NAME -- npx -y some-package" adds a server, "cardea add NAME https://host/mcp" one at a URL.',
    ...(sources.length > 0 ? [`The servers are from ${oneLine(sources.join(", "))}.`] : []),
    ...(isFetched
      ? [
          "startupWait: the first list of a host waits this long for servers whose packages are fetched at their first start.",
        ]
      : []),
    ...(needed.length > 0 ? ["Environment variables that must be set:", ...needed] : []),
  ];
  if (/\.ya?ml$/i.test(file)) {
    const { stringify } = await import("yaml");
    const body = stringify({ ...settings, mcpServers: Object.fromEntries(servers) }, { lineWidth: 0 });
    return `${comments.map((line) => `# ${line}\n`).join("")}${body}`;
  }
  const edits = [...servers].map(([name, server]) => ({ path: ["mcpServers", name], value: server }));
  const body = editConfig(
    `${JSON.stringify({ ...settings, mcpServers: {} }, null, 2)}\n`,
    "cardea.jsonc",
    edits,
  );
  return /\.json$/i.test(file) ? body : `${comments.map((line) => `// ${line}\n`).join("")}${body}`;
}

const oneLine = (text: string): string => text.replace(/\s+/g, " ");
