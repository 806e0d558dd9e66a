/**
 * The server behind a URL, by its server card (SEP-2127, a draft): at the URL, below it, or named by the catalog of its host. A card is
 * a stranger's text: it names addresses only, is shown, and nothing is added without an answer.
 */

import { parse } from "../config/open-file.js";
import { variablesIn } from "../config/template.js";
import { plainValue } from "../config/tree.js";
import { escapeHidden } from "../telemetry/log-format.js";
import { isObject, type JsonObject, stringAt } from "../wire/json.js";
import type { CommandContext, Log } from "./command-context.js";
import { EXIT } from "./exit.js";
import { importRegistryEntry, registryEntry } from "./host-files/registry.js";
import { canPrompt, confirm } from "./prompt.js";
import { fetchText, type RegistryServer } from "./registry-source.js";

const CARD_TYPE = "application/mcp-server-card+json";
const CARD_SUFFIX = "/server-card";
const CATALOGS = ["/.well-known/ai-catalog.json", "/.well-known/mcp/catalog.json"];
/** Cards of one catalog that are named when there is more than one. */
const MAX_NAMED = 20;
const MAX_SHOWN = 200;

/** Whether the URL is that of a card or of a catalog. */
export const isCardAddress = (url: string): boolean => {
  if (!URL.canParse(url)) return false;
  const { pathname } = new URL(url);
  return pathname.endsWith(CARD_SUFFIX) || CATALOGS.includes(pathname);
};

interface FoundCard {
  readonly card: JsonObject;
  /** Where it was read. */
  readonly url: string;
}

/**
 * The server of the card at `url`, below it, or in the catalog of its host, once the person has agreed; the exit code if it cannot be
 * used; undefined if there is no card.
 *
 * @param yes whether a server at the host of the card needs no answer
 */
export async function readServerCard(
  url: string,
  yes: boolean,
  shell: CommandContext,
  log: Log,
): Promise<RegistryServer | number | undefined> {
  const found = await findCard(url, log);
  if (found === undefined || typeof found === "number") return found;
  // A card says where a server is. What is to be run on this machine comes from no card.
  const { packages: _, ...card } = found.card;
  const entry = registryEntry(card);
  const { servers, variables } =
    entry === undefined ? { servers: new Map(), variables: [] } : importRegistryEntry(entry);
  const [first] = servers;
  if (first === undefined) {
    log.error({}, `the server card at ${shown(found.url)} names no address of a server ("remotes")`);
    return EXIT.failed;
  }
  const [name, server] = first;
  const agreed = await agrees({ name, server, found }, yes, shell, log);
  if (agreed !== EXIT.done) return agreed;
  const used = new Set(variablesIn(server));
  return { name, server, variables: variables.filter((each) => used.has(each.name)) };
}

async function agrees(
  {
    name,
    server,
    found,
  }: { readonly name: string; readonly server: { readonly url?: unknown }; readonly found: FoundCard },
  yes: boolean,
  shell: CommandContext,
  log: Log,
): Promise<number> {
  const address = String(server.url);
  const isElsewhere = !URL.canParse(address) || new URL(address).host !== new URL(found.url).host;
  const about = ["title", "description"].flatMap((key) => stringAt(found.card, key) ?? []).join(": ");
  const where = isElsewhere ? `, which is not the host of the card (${new URL(found.url).host})` : "";
  const sentence = `the card says: ${JSON.stringify(shown(about))}, a server ${JSON.stringify(shown(name))} at ${shown(address)}${where}`;
  if (yes && !isElsewhere) {
    log.info({}, sentence);
    return EXIT.done;
  }
  if (!canPrompt(shell)) {
    const how = isElsewhere ? `cardea add NAME ${shown(address)} adds it` : "--yes adds it";
    log.error({}, `${sentence}; ${how}`);
    return EXIT.usage;
  }
  const isWanted = await confirm(escapeHidden(`${sentence}. Add it?`), shell, isElsewhere ? "no" : "yes");
  return isWanted ? EXIT.done : EXIT.failed;
}

async function findCard(url: string, log: Log): Promise<FoundCard | number | undefined> {
  const { origin, pathname } = new URL(url);
  if (pathname.endsWith(CARD_SUFFIX)) return cardAt(url, log);
  if (!CATALOGS.includes(pathname)) {
    const below = `${origin}${pathname.replace(/\/$/, "")}${CARD_SUFFIX}`;
    const text = await fetchText([below], undefined, CARD_FETCH);
    const card = cardIn(text);
    if (card !== undefined) return { card, url: below };
  }
  const catalogs = CATALOGS.includes(pathname) ? [url] : CATALOGS.map((path) => `${origin}${path}`);
  const entries = entriesIn(await fetchText(catalogs, undefined, CARD_FETCH));
  const [first, second] = entries;
  if (first === undefined) return undefined;
  if (second === undefined) return cardOf(first, origin, log);
  const urls = entries
    .slice(0, MAX_NAMED)
    .map((each) => shown(stringAt(each, "url") ?? stringAt(each, "identifier") ?? ""));
  log.error(
    {},
    `the catalog of ${origin} names ${entries.length} servers; give the URL of one card: ${urls.join(", ")}`,
  );
  return EXIT.usage;
}

/** Redirects are not followed: the address is the one that the person sees. */
const CARD_FETCH = { redirect: "error", accept: `${CARD_TYPE}, application/json` } as const;

/** The card of an entry of the catalog at `origin`. Another host is asked only by its own name. */
async function cardOf(entry: JsonObject, origin: string, log: Log): Promise<FoundCard | number> {
  const { data } = entry;
  if (isObject(data)) return { card: data, url: `${origin}/` };
  const url = stringAt(entry, "url") ?? "";
  if (URL.canParse(url) && new URL(url).origin === origin) return cardAt(url, log);
  log.error({}, `the catalog of ${origin} names a card at another host; cardea add ${shown(url)} reads it`);
  return EXIT.usage;
}

async function cardAt(url: string, log: Log): Promise<FoundCard | number> {
  const text = await fetchText([url], log, CARD_FETCH);
  if (text === undefined) return EXIT.failed;
  const card = cardIn(text);
  if (card !== undefined) return { card, url };
  log.error({}, `${shown(url)} is no server card: it needs a "name" and "remotes"`);
  return EXIT.failed;
}

const jsonIn = (text: string | undefined): unknown => {
  const { tree } = text === undefined ? {} : parse(text.replace(/^\uFEFF/, ""), "server card");
  return tree && plainValue(tree);
};

function cardIn(text: string | undefined): JsonObject | undefined {
  const value = jsonIn(text);
  return isObject(value) && typeof value.name === "string" && Array.isArray(value.remotes)
    ? value
    : undefined;
}

function entriesIn(text: string | undefined): readonly JsonObject[] {
  const value = jsonIn(text);
  const entries = isObject(value) && Array.isArray(value.entries) ? value.entries : [];
  return entries.filter(isObject).filter(({ type }) => type === CARD_TYPE);
}

/** A stranger's text in a sentence: one line, bounded. */
const shown = (text: string): string => escapeHidden(text.replace(/\s+/g, " ").slice(0, MAX_SHOWN));
