/** Advice about a valid config: settings that are probably not intended. */
import { isLoopback } from "../http/loopback.js";
import { type ChannelSection, channelAt } from "./channel-section.js";
import { namePrefix, otherPrefixOwner } from "./collisions.js";
import { type Config, type ServerConfig, usableServers } from "./config.js";
import { programName } from "./package-runner.js";
import { channelsOf, obstaclesOfSections, type Section } from "./section.js";
import type { Path } from "./tree.js";

/** Advice about one path of the config. */
export interface Advice {
  /** The server it is about; without one it is about the whole config. */
  readonly server?: string;
  /** The key inside the server, or from the top level. */
  readonly path: Path;
  readonly message: string;
  /** The parts of the message that are values of the config, in which variables may stand. Default: none. */
  readonly values?: readonly string[];
}

/** Advice for a valid config that was read with `sections`; empty if there is none. */
export function advise(config: Config, sections: readonly Section[] = []): readonly Advice[] {
  const channels = channelsOf(sections);
  return [
    ...(config.servers.length === 0 ? [{ path: [], message: "there are no servers in it" }] : []),
    ...adviseNaming(config),
    ...adviseNoPrefix(config),
    ...adviseStartupWait(config),
    ...adviseAccess(config),
    ...usableServers(config).flatMap((server) =>
      [
        ...adviseTransport(server, channels),
        ...advisePrefix(server, config),
        ...adviseSharedPrefix(server, config),
        ...adviseOverrides(server, config),
      ].map((advice) => ({
        ...advice,
        server: server.name,
      })),
    ),
  ];
}

/** Advice at the top level of the config. */
type Found = Pick<Advice, "path" | "message" | "values">;

/**
 * Hosts add their own prefix: `mcp__cardea__` before a name, 64 characters in total; in Cursor 60 with the server's
 * name.
 */
const SAFE_MAX_LENGTH = 50;

/** Without prefixes names collide as soon as two servers list the same. */
function adviseNoPrefix({ servers }: Config): readonly Advice[] {
  const [first, ...others] = servers.filter(({ prefix }) => prefix === "");
  if (first === undefined) return [];
  return others.map(({ name }) => ({
    server: name,
    path: ["prefix"],
    message: `neither it nor ${JSON.stringify(first.name)} has a prefix: a name that both list is that of ${JSON.stringify(first.name)}, and gets a hash ending here (cardea doctor says which)`,
  }));
}

function adviseNaming({ naming }: Config): readonly Found[] {
  if (naming.maxLength <= SAFE_MAX_LENGTH) return [];
  const message = `naming.maxLength is over ${SAFE_MAX_LENGTH}: Cursor drops tools whose server and tool name are longer together, Claude and VS Code stop at 64 with mcp__SERVER__ before it`;
  return [{ path: ["naming", "maxLength"], message }];
}

/** Hosts with the MCP SDKs time out a request after 60 s without a response. */
const SAFE_WAIT_MS = 50_000;

function adviseStartupWait({ startupWaitMs }: Config): readonly Found[] {
  if (startupWaitMs <= SAFE_WAIT_MS) return [];
  const message =
    "startupWait is over 50s: most hosts give up a list that has no answer after 60s, and then show no tools at all";
  return [{ path: ["startupWait"], message }];
}

function advisePrefix({ prefix }: ServerConfig, { naming }: Config): readonly Found[] {
  const left = naming.maxLength - prefix.length - naming.separator.length;
  if (prefix === "" || left >= 24) return [];
  const message = `its prefix leaves ${Math.max(0, left)} characters for its own names; longer ones are cut and get a hash`;
  return [{ path: ["prefix"], message }];
}

/** Names of `a` that begin with `b__` would belong to `a__b`. */
function adviseSharedPrefix({ prefix }: ServerConfig, { servers, naming }: Config): readonly Found[] {
  if (prefix === "") return [];
  const start = namePrefix(prefix, naming);
  return servers.flatMap((other): readonly Found[] => {
    if (other.prefix === "" || other.prefix === prefix) return [];
    const theirs = namePrefix(other.prefix, naming);
    if (!theirs.startsWith(start)) return [];
    const rest = theirs.slice(start.length);
    const message = `its prefix begins that of ${JSON.stringify(other.name)}: names that begin with ${theirs} are those of ${JSON.stringify(other.name)}, and what it itself calls ${rest}… gets a hash ending`;
    return [{ path: ["prefix"], message }];
  });
}

function adviseOverrides(server: ServerConfig, config: Config): readonly Found[] {
  return Object.entries(server.overrides ?? {}).flatMap(([own, { name }]): readonly Found[] => {
    const owner = name === undefined ? undefined : otherPrefixOwner(server, name, config);
    if (owner === undefined) return [];
    const message = `the name ${JSON.stringify(name)} begins like those of server ${JSON.stringify(owner)}, so it gets a hash ending`;
    return [{ path: ["overrides", own, "name"], message }];
  });
}

/** What `serve` refuses in a complete config; `stdio`, which has no listener, accepts it. */
export function serveObstacles(
  { listen, auth, features }: Config,
  sections: readonly Section[],
): readonly Found[] {
  const { host, insecure } = listen.http;
  const found: Found[] = [];
  if (auth === undefined && !insecure && !isLoopback(host)) {
    const message = `serve refuses to listen on ${host}, beyond this machine, without "auth" or "insecure": true`;
    found.push({ path: ["listen", "http", "host"], message });
  }
  return [...found, ...obstaclesOfSections(sections, features)];
}

function adviseAccess({ listen, auth }: Config): readonly Found[] {
  const { host, insecure } = listen.http;
  const found: Found[] = [];
  if (auth === undefined && insecure && !isLoopback(host)) {
    const message = "every client that reaches this address may call every tool";
    found.push({ path: ["listen", "http", "insecure"], message });
  }
  if (auth?.keys.length === 0 && auth.jwt === undefined && auth.signIn === undefined)
    found.push({ path: ["auth", "keys"], message: "there is no key in it, so no host is let in" });
  const now = Date.now();
  for (const [index, { id, expiresAt = now + 1 }] of (auth?.keys ?? []).entries()) {
    if (expiresAt > now) continue;
    found.push({ path: ["auth", "keys", index, "expires"], message: `the key of ${id} has expired` });
  }
  return found;
}

function adviseTransport({ transport }: ServerConfig, channels: readonly ChannelSection[]): readonly Found[] {
  if (transport.kind === "http") return adviseUrl("url", transport.url);
  if (transport.kind !== "stdio") {
    const urls = channelAt(channels, transport)?.urlsOf(transport) ?? {};
    return Object.entries(urls).flatMap(([key, url]) => adviseUrl(key, url));
  }
  const { command, args, env } = transport;
  const program = programName(command);
  return [
    ...adviseShell(program, args),
    ...adviseSpaces(command),
    ...adviseSecrets(args),
    ...(SHELLS.has(program) ? [] : adviseHome(args, env)),
  ];
}

/** `~`, `~/x`, `--root=~/x`, `$HOME/x`: a shell would expand them, and no shell starts the server. */
const SHELL_PATH = /^(?:--?[\w-]+=)?(?:~(?:\/|$)|\$(?:HOME|PWD|USER|TMPDIR)\b)|:~\//;

function adviseHome(args: readonly string[], env: Readonly<Record<string, string>>): readonly Found[] {
  const found = [
    ...[...args.entries()].filter(([, arg]) => SHELL_PATH.test(arg)).map(([at]) => ["args", at] as const),
    ...Object.entries(env).flatMap(([name, text]) => (SHELL_PATH.test(text) ? [["env", name] as const] : [])),
  ];
  return found.map((path) => ({
    path,
    message: `its ${path[0]} has a ~ or $NAME that only a shell would expand; write \${HOME}/… or the whole path`,
  }));
}

const SECRET_FLAG = /(?:token|secret|passw(?:or)?d|api[-_]?key|credentials?)$/i;

/** The arguments of a process are visible to all users of the machine. */
function adviseSecrets(args: readonly string[]): readonly Found[] {
  const at = args.findIndex((arg, index) => {
    const [, name = "", value = args[index + 1]] = /^--?([\w-]+)(?:=(.*))?$/s.exec(arg) ?? [];
    return SECRET_FLAG.test(name) && value !== undefined && !/^-/.test(value);
  });
  if (at === -1) return [];
  const message =
    "its arguments hold a secret, which every user of this machine can read; most servers take it from env too";
  return [{ path: ["args", at], message }];
}

function adviseUrl(key: string, text: string): readonly Found[] {
  const { protocol, hostname } = new URL(text);
  if (protocol !== "http:" || isLoopback(hostname)) return [];
  return [
    {
      path: [key],
      message: `its ${key} is plain http: to another machine; what is sent can be read and changed`,
    },
  ];
}

const SHELLS = new Set(["sh", "bash", "zsh", "dash", "fish", "cmd", "powershell", "pwsh"]);

function adviseShell(program: string, args: readonly string[]): readonly Found[] {
  const inline = args.some((arg) => /^(-\w*c|\/c|-Command)$/i.test(arg));
  if (SHELLS.has(program) && inline) {
    const message = `it runs a line of ${program}; what a variable holds becomes part of that line`;
    return [{ path: ["command"], message }];
  }
  const evaluates =
    program === "node" || program === "deno" || program === "bun" || /^python3?$/.test(program);
  if (evaluates && args.some((arg) => /^(-e|--eval|-p|--print|-c|eval)$/.test(arg))) {
    return [{ path: ["args"], message: `it runs program text given to ${program}, not a file` }];
  }
  return [];
}

/** A whole command line in `command` is the most common mistake; a real path with spaces has a slash before them. */
function adviseSpaces(command: string): readonly Found[] {
  if (!/^[^/\\\s]+\s+\S/.test(command)) return [];
  return [
    {
      path: ["command"],
      message:
        "its command has spaces in it; put only the program into command, and its arguments into args, one by one",
    },
  ];
}
