/** In which folder does a server work for a host: what do the host's roots name, and may the host choose that folder? */
import { realpath, stat } from "node:fs/promises";
import { relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { RootsAnswer } from "../../core/call.js";
import type { Client } from "../../core/client.js";
import { GatewayError } from "../../core/errors.js";
import { isIdentified } from "../../core/fair-share.js";
import { isObject, stringAt } from "../../wire/json.js";

/** What the config says of the folders of a server. */
export interface FolderRules {
  /** The server, for messages. */
  readonly server: string;
  /** `file:` URIs for hosts that name no root. */
  readonly fallback: readonly { readonly uri: string }[];
  /** Absolute paths, in or below which the folder must be; undefined: any folder, for hosts without authentication. */
  readonly under: readonly string[] | undefined;
}

/**
 * The real path of the first root of a host, or of the config's first one where the host has none.
 *
 * @throws GatewayError `bad_request` where there is none, or it is no folder of this machine; `forbidden` where the host may not
 * choose it
 */
export async function workingFolder(
  rules: FolderRules,
  { principal }: Pick<Client, "principal">,
  roots: RootsAnswer | undefined,
): Promise<string> {
  const { server, fallback, under } = rules;
  const told = firstRoot(roots);
  const [configured] = fallback;
  if (told === undefined && configured === undefined) {
    const advice = `open a folder in the host, or set mcpServers.${server}.roots to a folder for hosts without roots`;
    throw refusal(
      rules,
      `${server} works in the folder of its host (cwd: "roots"), and this host names none: ${advice}`,
    );
  }
  if (told === undefined)
    return (await folderAt(configured?.uri)) ?? missing(rules, 'the first of its "roots" in the config');
  const folder = await folderAt(told);
  // Whether a folder exists is not for hosts that may not choose one.
  if (under === undefined && isIdentified(principal)) throw notAllowed(rules);
  if (under !== undefined && (folder === undefined || !(await isUnder(under, folder))))
    throw notAllowed(rules);
  return folder ?? missing(rules, "the first root of the host");
}

const missing = (rules: FolderRules, what: string): never => {
  throw refusal(
    rules,
    `${what} is not the file: URI of a folder of this machine, so ${rules.server} cannot work there; a host on another machine needs a gateway of its own`,
  );
};

const refusal = ({ server }: FolderRules, sentence: string): GatewayError =>
  new GatewayError("bad_request", "downstream", sentence, { server });

const notAllowed = ({ server }: FolderRules): GatewayError =>
  new GatewayError(
    "forbidden",
    "gateway",
    `the first root of the host is in none of the folders that mcpServers.${server}.rootsUnder names; hosts that authenticate may choose only among those`,
    { server },
  );

/** The URI of the first root; undefined where the host has none, or refuses to tell. */
function firstRoot(roots: RootsAnswer | undefined): string | undefined {
  const all = roots !== undefined && "result" in roots ? roots.result.roots : undefined;
  const [first] = Array.isArray(all) ? all : [];
  return isObject(first) ? (stringAt(first, "uri") ?? "") : undefined;
}

/** Longer URIs are no folders of any system. */
const MAX_URI_LENGTH = 8_192;

/** The real path behind a `file:` URI; undefined where that is no folder of this machine. */
async function folderAt(uri = ""): Promise<string | undefined> {
  if (!/^file:/i.test(uri) || uri.length > MAX_URI_LENGTH) return undefined;
  try {
    const path = await realpath(fileURLToPath(uri));
    return (await stat(path)).isDirectory() ? path : undefined;
  } catch {
    // Another machine's (a host in the URI), missing, not readable, or no path at all.
    return undefined;
  }
}

async function isUnder(allowed: readonly string[], folder: string): Promise<boolean> {
  for (const each of allowed) {
    const real = await realpath(each).catch(() => undefined);
    if (real === undefined) continue;
    const way = relative(real, folder);
    if (way === "" || (way !== ".." && !way.startsWith(`..${sep}`) && !/^[a-z]:|^[\\/]/i.test(way)))
      return true;
  }
  return false;
}
