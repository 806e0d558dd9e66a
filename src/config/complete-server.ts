/** Completes one server of the file: its transport, absolute paths, durations in ms. */
import { pathToFileURL } from "node:url";
import { type ChannelSection, channelAt } from "./channel-section.js";
import { checkedUrl, completeRequests } from "./complete-requests.js";
import {
  type ConfiguredServer,
  isMisconfigured,
  type NameFilter,
  type ServerConfig,
  type TransportConfig,
} from "./config.js";
import { parseEnvFile } from "./env-file.js";
import { absolutePath } from "./home-folder.js";
import type { ReadNamedFile } from "./named-files.js";
import { packageRunner } from "./package-runner.js";
import { channelsOf, type Section, settingsOf } from "./section.js";
import type { ServerAuthConfig } from "./server-auth.js";
import { ServerConfigError } from "./server-config-error.js";
import { URL_KEYS } from "./server-keys.js";
import { SERVER_TYPES, type ServerShape } from "./server-schema.js";
import { readErrorMessage } from "./text-file.js";
import { parseDuration } from "./units.js";

/** The folder of the config file, and how files are read. */
export interface FileContext {
  /** The folder of the config file; relative paths start there. */
  readonly folder: string;
  /** The sections of features. Default: none. */
  readonly sections?: readonly Section[];
  readonly readFile: ReadNamedFile;
  /** Reads a file that is no part of the config. Default: `readFile`. */
  readonly readDocument?: ReadNamedFile;
  /** The top-level settings, for servers without their own. */
  /** Whether the gateway authenticates its hosts. Default: no. */
  readonly hasPrincipals?: boolean;
  readonly defaults?: Pick<ServerShape, "lease"> | undefined;
}

const CONNECT_TIMEOUT = "30s";
/** How long (ms) the first start may take of a server whose command may have to fetch a package. */
const FETCH_MS = 180_000;

const fetchesPackage = (transport: TransportConfig): boolean =>
  transport.kind === "stdio" && packageRunner(transport.command, transport.args) !== undefined;

/** @throws ServerConfigError */
export function completeServer(name: string, shape: ServerShape, context: FileContext): ServerConfig {
  const tools: NameFilter = Array.isArray(shape.tools) ? { allow: shape.tools, deny: [] } : shape.tools;
  const channels = channelsOf(context.sections ?? []);
  const transport = transportOf(shape, context, channels);
  const { auth, ...features } = featuresOf(shape, transport, context);
  return {
    name,
    transport,
    ...(auth !== undefined && { auth }),
    prefix: shape.prefix ?? name,
    protocol: shape.protocol,
    lease: shape.lease ?? context.defaults?.lease ?? "auto",
    ...channelAt(channels, transport)?.fixed,
    start: startOf(shape, transport),
    idleTimeoutMs: milliseconds(shape.idleTimeout),
    required: shape.required,
    timeoutMs: milliseconds(shape.timeout),
    connectTimeoutMs: milliseconds(shape.connectTimeout ?? CONNECT_TIMEOUT),
    ...(shape.connectTimeout === undefined &&
      fetchesPackage(transport) && { firstConnectTimeoutMs: FETCH_MS }),
    ...(shape.roots !== undefined && { roots: shape.roots.map((root) => rootOf(root, context.folder)) }),
    tools: { allow: tools.allow, deny: [...tools.deny, ...shape.disabledTools] },
    prompts: shape.prompts,
    resources: shape.resources,
    features,
    ...(shape.arguments !== undefined && { parseJsonText: shape.arguments.parseJsonText }),
    ...(shape.overrides !== undefined && { overrides: completeOverrides(shape.overrides, context) }),
  };
}

/** The settings of features, and whose credentials requests carry, which one of them says. */
function featuresOf(
  shape: ServerShape,
  transport: TransportConfig,
  { sections = [], folder, hasPrincipals = false }: FileContext,
): Readonly<Record<string, unknown>> & { readonly auth?: ServerAuthConfig } {
  const { headers = {}, forwardHeaders = [] } = transport.kind === "stdio" ? {} : transport;
  // A host's own credentials at the server take the place of others.
  const own = Object.fromEntries(forwardHeaders.map(({ to }) => [to, ""]));
  const server = { kind: transport.kind, headers: { ...own, ...headers }, hasPrincipals };
  return settingsOf(sections, "server", shape, folder, server);
}

function startOf({ start, required }: ServerShape, { kind }: TransportConfig): ServerConfig["start"] {
  if (required && start === "demand")
    throw new ServerConfigError(
      'has "start": "demand" and is "required"; a required server is started with the gateway',
      "start",
    );
  return start ?? (kind === "stdio" && !required ? "demand" : "eager");
}

function transportOf(
  shape: ServerShape,
  context: FileContext,
  channels: readonly ChannelSection[],
): TransportConfig {
  const [urlKey, secondUrl] = URL_KEYS.filter((key) => shape[key] !== undefined);
  if (secondUrl !== undefined)
    throw new ServerConfigError(`has both "${urlKey}" and "${secondUrl}"`, secondUrl);

  const channel = channels.find(({ type }) => type === shape.type);
  refuseForeignKeys(shape, channels, channel);
  if (channel !== undefined) return channel.complete(shape, { ...context, urlKey });
  const type = typeOf(shape);
  if (type === undefined && shape.command !== undefined && urlKey !== undefined) {
    throw new ServerConfigError(`has both "command" and "${urlKey}"; it can be one or the other`, urlKey);
  }
  if (type === undefined && shape.command === undefined && urlKey === undefined) {
    throw new ServerConfigError('needs a "command" or a "url"');
  }
  if (type === "stdio" || (type === undefined && shape.command !== undefined)) {
    if (urlKey !== undefined)
      throw new ServerConfigError(`has "${urlKey}", which stdio servers do not have`, urlKey);
    const foreign = HTTP_KEYS.find((key) => shape[key] !== undefined);
    if (foreign !== undefined)
      throw new ServerConfigError(`has "${foreign}", which stdio servers do not have`, foreign);
    return stdio(shape, context);
  }
  if (shape.command !== undefined) {
    throw new ServerConfigError('has "command", which a server reached by HTTP has not', "command");
  }
  const url = urlKey === undefined ? undefined : shape[urlKey];
  if (urlKey === undefined || url === undefined) throw new ServerConfigError('needs a "url"');
  const address = checkedUrl(url, urlKey);
  return {
    kind: "http",
    url: address,
    headers: shape.headers,
    sse: type === "sse",
    ...completeRequests(shape, address, context.hasPrincipals),
  };
}

/** Keys of servers that are reached by HTTP. */
const HTTP_KEYS = ["proxy", "tls", "forwardHeaders"] as const;

/** What the word of a host means; undefined if the entry has none. */
const typeOf = ({ type }: ServerShape): "stdio" | "http" | "sse" | undefined =>
  Object.entries(SERVER_TYPES).find(([word]) => word === type)?.[1];

/** Keys of another way to reach servers. */
function refuseForeignKeys(
  shape: ServerShape,
  channels: readonly ChannelSection[],
  own: ChannelSection | undefined,
): void {
  for (const { type, keys } of channels) {
    if (type === own?.type) continue;
    const foreign = Object.keys(keys).find((key) => (shape as Record<string, unknown>)[key] !== undefined);
    if (foreign !== undefined)
      throw new ServerConfigError(`has "${foreign}", which is for servers with "type": "${type}"`, foreign);
  }
}

/** The server, when all files of its config are known. */
export function withConfigFiles(
  server: ConfiguredServer,
  sections: readonly Section[],
  files: readonly string[],
): ConfiguredServer {
  if (isMisconfigured(server)) return server;
  const channel = channelAt(channelsOf(sections), server.transport);
  return channel === undefined
    ? server
    : { ...server, transport: channel.withConfigFiles(server.transport, files) };
}

/** As `cwd`: the folder of the host. A folder of this name is \`./roots\`. */
const ROOTS = "roots";

function stdio(shape: ServerShape, { folder, readFile }: FileContext): TransportConfig {
  if (shape.command === undefined) throw new ServerConfigError('needs a "command"');
  const isInRoots = shape.cwd === ROOTS;
  if (shape.rootsUnder !== undefined && !isInRoots)
    throw new ServerConfigError('has "rootsUnder" without "cwd": "roots"', "rootsUnder");
  const under = shape.rootsUnder?.map((path) => absolutePath(path, folder));
  const cwd = shape.cwd === undefined || isInRoots ? folder : absolutePath(shape.cwd, folder);
  // The search folder of a relative program differs by platform; an absolute one is the same everywhere.
  const command = /^\.{1,2}[/\\]|^~\//.test(shape.command) ? absolutePath(shape.command, cwd) : shape.command;
  const env =
    shape.envFile === undefined
      ? shape.env
      : { ...fileEnvironment(shape.envFile, folder, readFile), ...shape.env };
  const inRoots = isInRoots ? { inRoots: under === undefined ? {} : { under } } : {};
  return { kind: "stdio", command, args: shape.args, env, cwd, ...inRoots };
}

function fileEnvironment(file: string, folder: string, readFile: ReadNamedFile) {
  try {
    return parseEnvFile(readFile(absolutePath(file, folder)));
  } catch (error) {
    throw new ServerConfigError(
      `names an "envFile" that cannot be read: ${readErrorMessage(error)}`,
      "envFile",
    );
  }
}

function checkedOverrides(overrides: Overrides): Overrides {
  const names = new Map<string, string>();
  for (const [tool, { name, arguments: given }] of Object.entries(overrides)) {
    const both = Object.keys(given?.fixed ?? {}).find((key) => Object.hasOwn(given?.defaults ?? {}, key));
    if (both !== undefined) {
      const what = `argument ${JSON.stringify(both)} of ${JSON.stringify(tool)}`;
      throw new ServerConfigError(
        `has "overrides" in which ${what} is both fixed and a default`,
        "overrides",
      );
    }
    if (name === undefined) continue;
    const other = names.get(name);
    if (other !== undefined) {
      const who = `${JSON.stringify(other)} and ${JSON.stringify(tool)}`;
      throw new ServerConfigError(`has "overrides" that give ${who} the same name`, "overrides");
    }
    names.set(name, tool);
  }
  return overrides;
}

/** With the settings of features for each tool. */
function completeOverrides(
  shapes: Overrides,
  { sections = [], folder }: FileContext,
): NonNullable<ServerConfig["overrides"]> {
  return Object.fromEntries(
    Object.entries(checkedOverrides(shapes)).map(([tool, shape]) => {
      const features = settingsOf(sections, "tool", shape, folder);
      return [tool, Object.keys(features).length === 0 ? shape : { ...shape, features }];
    }),
  );
}

type Overrides = NonNullable<ServerShape["overrides"]>;
type Root = NonNullable<ServerConfig["roots"]>[number];

/** Servers know roots as `file:` URIs only (2025-11-25: client/roots, "Root"). */
function rootOf(root: NonNullable<ServerShape["roots"]>[number], folder: string): Root {
  const { uri: location, name } = typeof root === "string" ? { uri: root, name: undefined } : root;
  const isUri = /^[a-z][a-z0-9+.-]+:/i.test(location);
  if (isUri && !(/^file:/i.test(location) && URL.canParse(location))) {
    throw new ServerConfigError(`has "roots" that are neither folders nor file: URIs`, "roots");
  }
  const uri = isUri ? new URL(location).href : pathToFileURL(absolutePath(location, folder)).href;
  return name === undefined ? { uri } : { uri, name };
}

function milliseconds(duration: string): number {
  const ms = parseDuration(duration);
  if (ms === undefined) throw new RangeError(`the schema let a duration pass that is none`);
  return ms;
}
