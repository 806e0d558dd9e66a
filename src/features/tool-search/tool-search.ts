/** Searches the tools of one client's view, in one index for all clients that see parts of the same list. */

import type { ExposedItem, ToolList, ToolSource, ToolsOfClient } from "../../core/list-transform.js";
import type { ServerFacts } from "../../core/upstream.js";
import { stringAt } from "../../wire/json.js";
import type { ToolIndex, ToolView } from "./ranking/tool-index.js";
import type { SearchableServer, SearchableTool } from "./ranking/tool-text.js";

/** A search. */
export interface ToolQuery {
  /** Any words; an empty text returns all tools, in list order. */
  readonly query: string;
  /** Only tools of this server. */
  readonly server?: string | undefined;
  readonly limit: number;
}

/** The result. */
export interface FoundTools {
  /** The best matches first. */
  readonly entries: readonly ExposedItem[];
  /** The number of matches. */
  readonly total: number;
}

/** An index that is built or being built. */
interface BuildJob {
  readonly index: Promise<ToolIndex>;
  readonly abort: AbortController;
  /** Pending searches of it. */
  waiting: number;
}

/** The part of an index that a view shows, with the mapping of its entries. */
interface SearchableView {
  readonly view: ToolView;
  readonly entries: readonly (ExposedItem | undefined)[];
}

/** What servers say of themselves, which is searched too. */
type ServerSource = Pick<ToolSource, "facts">;

/** Searches the lists of a gateway. Indexes and views of them live as long as the lists. */
export class ToolSearch {
  readonly #jobs = new WeakMap<ToolList, BuildJob>();
  readonly #views = new WeakMap<ToolList, SearchableView>();
  /** The last started job; undefined once it is done. */
  #running: BuildJob | undefined;

  /** Builds the index of a list in the background, because a search will probably follow. */
  prepare({ whole }: ToolsOfClient, source: ServerSource): void {
    this.#job(whole, source);
  }

  /** Waits for an unfinished index: less than a second for 10,000 tools. */
  async find(
    list: ToolsOfClient,
    { query, server, limit }: ToolQuery,
    source: ServerSource,
  ): Promise<FoundTools> {
    const { tools } = list;
    if (query === "") {
      const all = tools.entries.filter(({ route }) => server === undefined || route.upstream === server);
      return { entries: all.slice(0, limit), total: all.length };
    }
    const { view, entries } = this.#views.get(tools) ?? (await this.#makeView(list, source));
    const { hits, total } = view.search(query, { limit, ...(server !== undefined && { server }) });
    return { entries: hits.flatMap(({ entry }) => entries[entry] ?? []), total };
  }

  /** Cancels a build without pending searches. */
  close(): void {
    if (this.#running?.waiting === 0) this.#running.abort.abort();
  }

  async #makeView({ tools, whole }: ToolsOfClient, source: ServerSource): Promise<SearchableView> {
    const index = await this.#indexOf(whole, source);
    const known = this.#views.get(tools);
    if (known !== undefined) return known;
    const own = new Map(tools.entries.map((entry) => [entry.route, entry]));
    const entries = tools === whole ? whole.entries : whole.entries.map(({ route }) => own.get(route));
    const view = tools === whole ? index.all : index.viewOf((entry) => entries[entry] !== undefined);
    const made = { view, entries };
    this.#views.set(tools, made);
    return made;
  }

  async #indexOf(whole: ToolList, source: ServerSource): Promise<ToolIndex> {
    const job = this.#job(whole, source);
    job.waiting += 1;
    try {
      return await job.index;
    } finally {
      job.waiting -= 1;
    }
  }

  #job(whole: ToolList, source: ServerSource): BuildJob {
    const known = this.#jobs.get(whole);
    if (known !== undefined && !known.abort.signal.aborted) return known;
    // Lists change often while servers start: a build without pending searches is cancelled.
    this.close();
    const abort = new AbortController();
    const servers = new Map<string, SearchableServer>();
    const serverOf = (name: string): SearchableServer => {
      const server = servers.get(name) ?? searchableServer(name, source.facts(name));
      servers.set(name, server);
      return server;
    };
    const tools = whole.entries.map(({ route, item }) => ({
      name: route.exposed,
      server: serverOf(route.upstream),
      tool: item,
    }));
    const index = buildIndex(tools, abort.signal);
    const job: BuildJob = { index, abort, waiting: 0 };
    const done = (): void => {
      if (this.#running === job) this.#running = undefined;
    };
    index.then(done, done);
    this.#running = job;
    this.#jobs.set(whole, job);
    return job;
  }
}

/** Loads the code of the index with the first one: a gateway without searches starts without it. */
async function buildIndex(tools: readonly SearchableTool[], signal: AbortSignal): Promise<ToolIndex> {
  const { buildToolIndex } = await import("./ranking/build-index.js");
  signal.throwIfAborted();
  return buildToolIndex(tools, { signal });
}

/** The indexed text of a server, from its last introduction. */
function searchableServer(name: string, facts: ServerFacts | undefined): SearchableServer {
  const title = stringAt(facts?.serverInfo, "title");
  const instructions = facts?.instructions;
  return { name, ...(title !== undefined && { title }), ...(instructions !== undefined && { instructions }) };
}
