/** How a person connects each host: a link that the host opens, a line for a shell, or an entry in its file. */
import { KNOWN_HOSTS, type KnownHost } from "../../cli/host-files/known-hosts.js";
import { type Html, html } from "../../http/html-page.js";
import type { WayOfKnowing } from "./person-view.js";

/** The URL for hosts, and how they show who they are. */
export interface HostTarget {
  readonly address: string;
  readonly way: WayOfKnowing;
}

/** A host, and what a person does in it. */
export interface HostLines {
  readonly title: string;
  readonly lines: Html;
}

/** The name of the entry in every host, as `cardea install` writes it. */
const NAME = "cardea";
/** A placeholder: the operator has given the person a key. */
const AUTHORIZATION = "Bearer YOUR-KEY";
/** The home folder is as people write it, on every system. */
const PLACES = { env: {}, home: "~", platform: "linux" } as const;

/** The hosts that `cardea install` knows, in its order. */
export const hostLines = (target: HostTarget): readonly HostLines[] =>
  KNOWN_HOSTS.map((host) => ({ title: host.title, lines: (OF_HOST[host.id] ?? entryLines)(target, host) }));

type Lines = (target: HostTarget, host: KnownHost) => Html;

const OF_HOST: Readonly<Record<string, Lines>> = {
  "claude-code": (target) =>
    shell(
      `claude mcp add --transport http ${NAME} ${target.address}${needsKey(target) ? ` --header "Authorization: ${AUTHORIZATION}"` : ""}`,
      target.way === "signIn" ? "Then /mcp in Claude Code signs you in." : undefined,
    ),
  "claude-desktop": (target) => {
    const bridge = json({
      mcpServers: {
        [NAME]: {
          command: "npx",
          args: ["-y", "cardea", "connect", target.address],
          ...(needsKey(target) && { env: { CARDEA_HEADER: `Authorization: ${AUTHORIZATION}` } }),
        },
      },
    });
    const file = html`<p>In <code>claude_desktop_config.json</code> (Settings, Developer, Edit Config):</p><pre>${bridge}</pre>`;
    if (target.way !== "signIn") return file;
    return target.address.startsWith("https:")
      ? html`<p>Settings, Connectors, Add custom connector, with this address:</p><pre>${target.address}</pre>`
      : html`<p>It signs in at https addresses only, which this is not.</p>`;
  },
  vscode: (target, host) => {
    if (needsKey(target)) return entryIn(target, host, "In mcp.json (command MCP: Open User Configuration):");
    const entry = { name: NAME, type: "http", url: target.address };
    return html`<p><a class="button main" href="vscode:mcp/install?${encodeURIComponent(JSON.stringify(entry))}">Add to VS Code</a></p>
<p class="quiet">Or in a shell:</p><pre>code --add-mcp '${JSON.stringify(entry)}'</pre>`;
  },
  cursor: (target, host) => {
    const entry = entryOf(target, host);
    const config = encodeURIComponent(Buffer.from(JSON.stringify(entry)).toString("base64"));
    const button = html`<p><a class="button main" href="cursor://anysphere.cursor-deeplink/mcp/install?name=${NAME}&config=${config}">Add to Cursor</a></p>`;
    return html`${needsKey(target) ? html`` : button}${entryLines(target, host)}`;
  },
  gemini: (target) =>
    shell(
      `gemini mcp add --transport http ${NAME} ${target.address}${needsKey(target) ? ` --header "Authorization: ${AUTHORIZATION}"` : ""}`,
    ),
  codex: (target) =>
    needsKey(target)
      ? shell(
          `codex mcp add ${NAME} --url ${target.address} --bearer-token-env-var CARDEA_KEY`,
          "The variable CARDEA_KEY has your key.",
        )
      : shell(
          `codex mcp add ${NAME} --url ${target.address}`,
          target.way === "signIn" ? `Then codex mcp login ${NAME} signs you in.` : undefined,
        ),
};

const needsKey = ({ way }: HostTarget): boolean => way === "credentials";

const shell = (line: string, then?: string): Html =>
  html`<p class="quiet">In a shell:</p><pre>${line}</pre>${then === undefined ? html`` : html`<p class="quiet">${then}</p>`}`;

const entryLines: Lines = (target, host) => {
  const [file = ""] = host.files(PLACES);
  return entryIn(target, host, `In ${file}:`);
};

function entryIn(target: HostTarget, host: KnownHost, where: string): Html {
  const path = host.serversPath(undefined);
  const entry = [...path, NAME].reduceRight<unknown>(
    (inner, key) => ({ [key]: inner }),
    entryOf(target, host),
  );
  return html`<p class="quiet">${where}</p><pre>${json(entry)}</pre>`;
}

function entryOf(target: HostTarget, host: KnownHost): unknown {
  const headers: Record<string, string> = needsKey(target) ? { Authorization: AUTHORIZATION } : {};
  return host.http({ kind: "http", url: target.address, headers }, host.serversPath(undefined));
}

/** Each line is a value of its own: line ends in a value are shown as what they would hide. */
const json = (value: unknown): Html => {
  const lines = JSON.stringify(value, null, 2).split("\n");
  return html`${lines.map((line, at) => (at === 0 ? html`${line}` : html`\n${line}`))}`;
};
