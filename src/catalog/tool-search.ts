/** Searches the tools of one client's view, in one index for all clients that see parts of the same list. */
import type { ServerFacts } from "../core/upstream.js";
import { stringAt } from "../wire/json.js";
import type { ToolIndex, ToolView } from "./search/tool-index.js";
import type { SearchableServer, SearchableTool } from "./search/tool-text.js";
import type { ExposedItem, Snapshot } from "./view.js";

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

/** The tool list of one client, and the list that it is a part of: the same one if that is all of it. */
export interface SearchedList {
  readonly tools: Snapshot;
  readonly whole: Snapshot;
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

/** Searches the lists of one catalog. Indexes and views of them live as long as the lists. */
export class ToolSearch {
  readonly #describeServer: (name: string) => SearchableServer;
  readonly #jobs = new WeakMap<Snapshot, BuildJob>();
  readonly #views = new WeakMap<Snapshot, SearchableView>();
  /** The last started job; undefined once it is done. */
  #running: BuildJob | undefined;

  constructor(describeServer: (name: string) => SearchableServer) {
    this.#describeServer = describeServer;
  }

  /** Builds the index of a list in the background, because a search will probably follow. */
  prepare({ whole }: SearchedList): void {
    this.#job(whole);
  }

  /** Waits for an unfinished index: less than a second for 10,000 tools. */
  async find(list: SearchedList, { query, server, limit }: ToolQuery): Promise<FoundTools> {
    const { tools } = list;
    if (query === "") {
      const all = tools.entries.filter(({ route }) => server === undefined || route.upstream === server);
      return { entries: all.slice(0, limit), total: all.length };
    }
    const { view, entries } = this.#views.get(tools) ?? (await this.#makeView(list));
    const { hits, total } = view.search(query, { limit, ...(server !== undefined && { server }) });
    return { entries: hits.flatMap(({ entry }) => entries[entry] ?? []), total };
  }

  /** Cancels a build without pending searches. */
  close(): void {
    if (this.#running?.waiting === 0) this.#running.abort.abort();
  }

  async #makeView({ tools, whole }: SearchedList): Promise<SearchableView> {
    const index = await this.#indexOf(whole);
    const known = this.#views.get(tools);
    if (known !== undefined) return known;
    const own = new Map(tools.entries.map((entry) => [entry.route, entry]));
    const entries = tools === whole ? whole.entries : whole.entries.map(({ route }) => own.get(route));
    const view = tools === whole ? index.all : index.viewOf((entry) => entries[entry] !== undefined);
    const made = { view, entries };
    this.#views.set(tools, made);
    return made;
  }

  async #indexOf(whole: Snapshot): Promise<ToolIndex> {
    const job = this.#job(whole);
    job.waiting += 1;
    try {
      return await job.index;
    } finally {
      job.waiting -= 1;
    }
  }

  #job(whole: Snapshot): BuildJob {
    const known = this.#jobs.get(whole);
    if (known !== undefined && !known.abort.signal.aborted) return known;
    // Lists change often while servers start: a build without pending searches is cancelled.
    this.close();
    const abort = new AbortController();
    const servers = new Map<string, SearchableServer>();
    const serverOf = (name: string): SearchableServer => {
      const server = servers.get(name) ?? this.#describeServer(name);
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
  const { buildToolIndex } = await import("./search/build-index.js");
  signal.throwIfAborted();
  return buildToolIndex(tools, { signal });
}

/** The indexed text of a server, from its last introduction. */
export function searchableServer(name: string, facts: ServerFacts | undefined): SearchableServer {
  const title = stringAt(facts?.serverInfo, "title");
  const instructions = facts?.instructions;
  return { name, ...(title !== undefined && { title }), ...(instructions !== undefined && { instructions }) };
}
