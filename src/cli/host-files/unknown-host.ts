/** What `cardea install` says of a host that it does not know by this name. */
import { closest } from "../../config/closest.js";
import { UsageError } from "../exit.js";
import { KNOWN_HOSTS } from "./known-hosts.js";

/** Hosts whose files are not edited here, and what a person does there; names that are those of several hosts. */
const HINTS: ReadonlyMap<string, string> = new Map([
  ["claude", "say which one: claude-code or claude-desktop"],
  ["code", "did you mean vscode?"],
  ["copilot", "did you mean vscode?"],
  [
    "goose",
    'its file is not edited from here: "goose configure", Add Extension, Remote Extension (Streamable HTTP), and the URL that cardea serve prints',
  ],
  [
    "continue",
    "its file is not edited from here: under mcpServers of its config.yaml add { name: cardea, type: streamable-http, url: URL }, with the URL that cardea serve prints",
  ],
]);

/** @throws UsageError always */
export function unknownHost(id: string): never {
  const ids = KNOWN_HOSTS.map((host) => host.id);
  const near = closest(id, ids);
  const hint =
    HINTS.get(id.toLowerCase()) ??
    (near === undefined
      ? `one of ${ids.join(", ")}; any other host takes the URL that cardea serve prints`
      : `did you mean ${near}?`);
  throw new UsageError(`there is no host ${JSON.stringify(id)} here; ${hint}`);
}
