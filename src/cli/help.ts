/** The output of `cardea --help` and `cardea --version`. The help fits on a screen of 24 lines. */
import { existsSync, readFileSync } from "node:fs";
import type { CommandPlace, Feature, FeatureCommands } from "./feature.js";

/** The text of `cardea --help`, with the commands of features. */
export const helpText = (features: readonly Feature[]): string =>
  [
    firstOf(features),
    ...linesOf(features, ["use", "show"]),
    `  ${shortOf(features, ["use", "show"]).join("")}${MIDDLE}`,
    ...linesOf(features, ["keep"]),
    `  ${shortOf(features, ["keep"]).join("")}${LAST}`,
  ].join("\n");

const usageOf = (features: readonly Feature[]): string =>
  features
    .flatMap(({ serveFlags = [] }) => serveFlags.flatMap(({ usage }) => usage ?? []))
    .map((usage) => `${usage} `)
    .join("");
const linesOf = (features: readonly Feature[], places: readonly CommandPlace[]): readonly string[] =>
  commandsAt(features, places).flatMap(({ help, isShort = false }) => (isShort ? [] : help));
const shortOf = (features: readonly Feature[], places: readonly CommandPlace[]): readonly string[] =>
  commandsAt(features, places).flatMap(({ help, isShort = false }) => (isShort ? help : []));

const commandsAt = (
  features: readonly Feature[],
  places: readonly CommandPlace[],
): readonly FeatureCommands[] =>
  features.flatMap(({ commands }) =>
    commands !== undefined && places.includes(commands.place) ? commands : [],
  );

/** `serve` with the flags of features. */
const firstOf = (
  features: readonly Feature[],
): string => `Cardea, an MCP gateway: one MCP server to hosts, one client to many MCP servers.

  cardea init   [--from FILE]... [--out FILE]    a config made from your hosts'
  cardea add    NAME -- CMD ARGS... | NAME URL | SERVER.JSON    cardea remove NAME
  cardea install HOST [--dry-run]         write Cardea into a host's own file
  cardea serve  [--port N] ${usageOf(features)}[--insecure]    the gateway over HTTP
  cardea stdio  the gateway over stdio    cardea -- CMD ARGS...  one server as HTTP
  cardea connect URL [--header 'K: V']... one HTTP server as stdio
  cardea check  is the config right?      cardea doctor  does each server start?
  cardea list   [tools|prompts|resources|templates] [--as ID]  what hosts see
  cardea call   NAME [k=v k:=JSON ...]    cardea explain NAME [--as ID]  who may`;

const MIDDLE = `cardea status, cardea tail, cardea top
  cardea import FILE|-  a host's config   cardea schema  the config's JSON Schema
  cardea key    [--id ID] [--add] | list | revoke ID     API keys for hosts`;

const LAST = `cardea completion bash|zsh|fish  cardea --help|--version

The config: --config, $CARDEA_CONFIG, ./cardea.{jsonc,json,yaml,yml}, ./.mcp.json,
$XDG_CONFIG_HOME/cardea/cardea.{jsonc,json,yaml,yml}; the first that exists.
Each flag has a variable: --admin-port is CARDEA_ADMIN_PORT; the flag wins.
Data goes to stdout, the log to stderr (CARDEA_LOG_LEVEL: error, warn, info, debug).
Exit codes: 0 done, 1 failed, 2 usage, 3 findings, 78 config, 69 a missing server.
`;

/** The version of this package. @throws Error if its package.json is missing */
export function packageVersion(): string {
  const text = readFileSync(packageFile(), "utf8");
  const { version } = JSON.parse(text) as { readonly version: string };
  return version;
}

/** The package.json above this module: two folders up in src/, one or two in dist/. */
function packageFile(): URL {
  const candidates = ["../package.json", "../../package.json"].map((path) => new URL(path, import.meta.url));
  return candidates.find((file) => existsSync(file)) as URL;
}
