/** Loads a registry's `server.json`: from a file, from a URL, or by name from a registry. */
import { resolve } from "node:path";
import { parse } from "../config/open-file.js";
import { variablesIn } from "../config/template.js";
import { readErrorMessage, readTextFile } from "../config/text-file.js";
import { plainValue } from "../config/tree.js";
import { outgoingAgent } from "../outgoing/connector.js";
import { ProxyError } from "../outgoing/proxy.js";
import { undici } from "../runtime/undici.js";
import type { CommandContext, Log } from "./command-context.js";
import { EXIT } from "./exit.js";
import type { ImportedServer, NeededVariable } from "./host-files/imported.js";
import { importRegistryEntry, registryEntry } from "./host-files/registry.js";
import { REGISTRY_NAME } from "./registry-name.js";

/** The server of an entry, and its variables. */
export interface RegistryServer {
  readonly name: string;
  readonly server: ImportedServer;
  readonly variables: readonly NeededVariable[];
}

/** Timeout (ms) of a registry, and maximum response size (bytes). */
const FETCH_MS = 30_000;
const MAX_BYTES = 1_048_576;

/** The first usable transport of `source`, or the exit code. */
export async function readRegistryEntry(
  source: string,
  registry: string | undefined,
  shell: CommandContext,
  log: Log,
): Promise<RegistryServer | number> {
  const text = /^https?:\/\//i.test(source)
    ? await fetchText([source], log)
    : source.endsWith(".json")
      ? await readText(source, shell, log)
      : await lookUp(source, registry, log);
  if (text === undefined) return EXIT.failed;
  const { tree } = parse(text.replace(/^\uFEFF/, ""), "server.json");
  const entry = tree === undefined ? undefined : registryEntry(plainValue(tree));
  if (entry === undefined) {
    log.error({ source }, `${source} is no server.json: it needs a "name", and "packages" or "remotes"`);
    return EXIT.failed;
  }
  const { servers, variables, notes } = importRegistryEntry(entry);
  for (const note of notes) log.warn({}, note);
  const [first] = servers;
  if (first === undefined) {
    log.error({ source }, `${source} names no way to start or reach its server that is known here`);
    return EXIT.failed;
  }
  const [name, server] = first;
  const used = new Set(variablesIn(server));
  return { name, server, variables: variables.filter((each) => used.has(each.name)) };
}

async function readText(file: string, shell: CommandContext, log: Log): Promise<string | undefined> {
  try {
    return await readTextFile(resolve(shell.cwd, file), MAX_BYTES);
  } catch (error) {
    log.error({ file }, `${file} cannot be read: ${readErrorMessage(error)}`);
    return undefined;
  }
}

async function lookUp(name: string, registry: string | undefined, log: Log): Promise<string | undefined> {
  if (registry === undefined) {
    log.error(
      {},
      `${name} looks like a name in a registry, and the config names none; add "registry": "https://registry.modelcontextprotocol.io", or give --registry`,
    );
    return undefined;
  }
  const [, server = "", version = "latest"] = REGISTRY_NAME.exec(name) ?? [];
  const path = `servers/${encodeURIComponent(server)}/versions/${encodeURIComponent(version)}`;
  const base = registry.replace(/\/+$/, "");
  return fetchText([`${base}/v0.1/${path}`, `${base}/v0/${path}`], log);
}

/** How a text is fetched. */
interface FetchSettings {
  /** Default: followed. */
  readonly redirect?: "follow" | "error";
  readonly accept?: string;
}

/** The text at the first URL without a 404; without a `log`, why there is none is of no interest. */
export async function fetchText(
  addresses: readonly string[],
  log: Log | undefined,
  { redirect = "follow", accept = "application/json" }: FetchSettings = {},
): Promise<string | undefined> {
  let problem = "";
  const dispatcher = outgoingAgent({ timeoutMs: FETCH_MS });
  for (const url of addresses) {
    const { host } = new URL(url);
    try {
      const response = await undici().fetch(url, {
        headers: { accept },
        redirect,
        signal: AbortSignal.timeout(FETCH_MS),
        dispatcher,
      });
      if (response.ok) return await boundedText(response);
      problem =
        response.status === 404 ? `${url} is not there` : `${host} answered with status ${response.status}`;
      if (response.status !== 404) break;
    } catch (error) {
      problem = `${url} cannot be fetched: ${fetchErrorMessage(error)}`;
      break;
    }
  }
  log?.error({}, problem);
  return undefined;
}

async function boundedText(response: Pick<Response, "body">): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > MAX_BYTES) throw new RangeError("it is larger than 1 MiB");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function fetchErrorMessage(error: unknown): string {
  if (error instanceof RangeError) return error.message;
  if (error instanceof Error && error.name === "TimeoutError") return "no answer within 30 s";
  const cause: unknown = error instanceof Error ? error.cause : undefined;
  if (cause instanceof ProxyError) return cause.message;
  if (!(cause instanceof Error)) return "it failed";
  return "code" in cause ? String(cause.code) : cause.message;
}
