/** The known hosts: the location of their config files, and the form of a server in them. */
import type { ObjectTree, Tree } from "../../config/tree.js";
import { type HostPathContext, inAppData, inConfig, inHome } from "./host-paths.js";

/** How a host reaches Cardea. */
export type HostConnection =
  | { readonly kind: "http"; readonly url: string; readonly headers: Readonly<Record<string, string>> }
  | {
      readonly kind: "stdio";
      readonly command: string;
      readonly args: readonly string[];
      /** For a host that only starts commands; others get headers with the URL. */
      readonly env?: Readonly<Record<string, string>>;
    };

type Entry = Readonly<Record<string, unknown>>;

/** A host and the form of its file. */
export interface KnownHost {
  readonly id: string;
  /** The name on its website. */
  readonly title: string;
  /** Where its file may be; the first that exists counts, else the first of all is made. */
  files(places: HostPathContext): readonly string[];
  /** Its files in a project, relative to the project's folder. */
  readonly projectFiles: readonly string[];
  /** The path of the map of servers in the file. */
  serversPath(file: ObjectTree | undefined): readonly string[];
  /** One server as the host writes it; `undefined` where it can only start commands. */
  http(connection: Extract<HostConnection, { kind: "http" }>, path: readonly string[]): Entry | undefined;
  stdio(connection: Extract<HostConnection, { kind: "stdio" }>, path: readonly string[]): Entry;
}

const withHeaders = (headers: Readonly<Record<string, string>>, key = "headers"): Entry =>
  Object.keys(headers).length === 0 ? {} : { [key]: headers };

/** Every host that `cardea install` supports. */
export const KNOWN_HOSTS: readonly KnownHost[] = [
  {
    id: "claude-code",
    title: "Claude Code",
    files: (places) => {
      const own = places.env.CLAUDE_CONFIG_DIR;
      return [own ? `${own}/.claude.json` : inHome(places, ".claude.json")];
    },
    projectFiles: [".mcp.json"],
    serversPath: () => ["mcpServers"],
    http: ({ url, headers }) => ({ type: "http", url, ...withHeaders(headers) }),
    stdio: ({ command, args }) => ({ type: "stdio", command, args }),
  },
  {
    id: "claude-desktop",
    title: "Claude Desktop",
    files: (places) => [...inAppData(places, "Claude", "claude_desktop_config.json"), ...storeFiles(places)],
    projectFiles: [],
    serversPath: () => ["mcpServers"],
    // Remote servers are added in its settings; the file takes commands only.
    http: () => undefined,
    stdio: ({ command, args, env }) => ({ command, args, ...(env !== undefined && { env }) }),
  },
  {
    id: "vscode",
    title: "VS Code",
    files: (places) => inAppData(places, "Code", "User", "mcp.json"),
    projectFiles: [".vscode/mcp.json"],
    serversPath: () => ["servers"],
    http: ({ url, headers }) => ({ type: "http", url, ...withHeaders(headers) }),
    stdio: ({ command, args }) => ({ type: "stdio", command, args }),
  },
  {
    id: "cursor",
    title: "Cursor",
    files: (places) => [inHome(places, ".cursor", "mcp.json")],
    projectFiles: [".cursor/mcp.json"],
    serversPath: () => ["mcpServers"],
    http: ({ url, headers }) => ({ url, ...withHeaders(headers) }),
    stdio: ({ command, args }) => ({ command, args }),
  },
  {
    id: "windsurf",
    title: "Windsurf",
    files: (places) => [inHome(places, ".codeium", "windsurf", "mcp_config.json")],
    projectFiles: [],
    serversPath: () => ["mcpServers"],
    http: ({ url, headers }) => ({ serverUrl: url, ...withHeaders(headers) }),
    stdio: ({ command, args }) => ({ command, args }),
  },
  {
    id: "zed",
    title: "Zed",
    files: (places) =>
      places.platform === "win32"
        ? inAppData(places, "Zed", "settings.json")
        : inConfig(places, "zed", "settings.json"),
    projectFiles: [".zed/settings.json"],
    serversPath: () => ["context_servers"],
    http: ({ url, headers }) => ({ url, ...withHeaders(headers) }),
    stdio: ({ command, args }) => ({ command, args, env: {} }),
  },
  {
    id: "gemini",
    title: "Gemini CLI",
    files: (places) => [inHome(places, ".gemini", "settings.json")],
    projectFiles: [".gemini/settings.json"],
    serversPath: () => ["mcpServers"],
    // With `url` older versions speak the transport of 2024-11-05.
    http: ({ url, headers }) => ({ httpUrl: url, ...withHeaders(headers) }),
    stdio: ({ command, args }) => ({ command, args }),
  },
  {
    id: "codex",
    title: "Codex",
    files: (places) => {
      const own = places.env.CODEX_HOME;
      return [own ? `${own}/config.toml` : inHome(places, ".codex", "config.toml")];
    },
    projectFiles: [".codex/config.toml"],
    serversPath: () => ["mcp_servers"],
    http: ({ url, headers }) => ({ url, ...withHeaders(headers, "http_headers") }),
    // Its own limit is 10 s, lists included, which servers behind `npx` may need.
    stdio: ({ command, args }) => ({ command, args, startup_timeout_sec: 30 }),
  },
  {
    id: "opencode",
    title: "opencode",
    files: (places) => [
      ...(places.env.OPENCODE_CONFIG ? [places.env.OPENCODE_CONFIG] : []),
      ...inConfig(places, "opencode", "opencode.json"),
      ...inConfig(places, "opencode", "opencode.jsonc"),
    ],
    projectFiles: ["opencode.json", "opencode.jsonc"],
    serversPath: (file) => (isSecondShape(file) ? ["mcp", "servers"] : ["mcp"]),
    http: ({ url, headers }, path) => ({ type: "remote", url, ...withHeaders(headers), ...enabledIn(path) }),
    stdio: ({ command, args }, path) => ({ type: "local", command: [command, ...args], ...enabledIn(path) }),
  },
];

/** Claude Desktop from the Microsoft Store has a folder of its own. */
function storeFiles({ env, platform }: HostPathContext): readonly string[] {
  if (platform !== "win32" || !env.LOCALAPPDATA) return [];
  const steps = ["Packages", "Claude_pzs8sxrjxfjjc", "LocalCache", "Roaming", "Claude"];
  return [[env.LOCALAPPDATA, ...steps, "claude_desktop_config.json"].join("\\")];
}

/** opencode 2 has its servers under `mcp.servers`, and reads the shape of opencode 1 as well. */
function isSecondShape(file: ObjectTree | undefined): boolean {
  const servers = memberOf(memberOf(file, "mcp"), "servers");
  return servers?.kind === "object" && memberOf(servers, "type")?.kind !== "scalar";
}

const enabledIn = (path: readonly string[]): Entry => (path.length === 1 ? { enabled: true } : {});

const memberOf = (tree: Tree | undefined, key: string): Tree | undefined =>
  tree?.kind === "object" ? tree.members.get(key)?.value : undefined;

/** The host with this name. */
export const knownHost = (id: string): KnownHost | undefined => KNOWN_HOSTS.find((host) => host.id === id);
