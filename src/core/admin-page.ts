/** A page of the admin API: its path, what it answers, and how the answers of several workers become one. */
import type { Principal } from "./client.js";
import type { StopSignal } from "./stop.js";

/**
 * What a caller of the admin API may do: read all pages and act, or read them, or neither. Pages and actions that are for all
 * persons (`isForPersons`) decide by themselves.
 */
export type AdminRole = "operator" | "viewer" | "person";

/** Who sends a request of the admin API. */
export interface AdminCaller {
  /** A person with the groups of this token; `admin-token` for all who have a token of the listener. */
  readonly principal: Principal;
  readonly role: AdminRole;
  /** Where the request came from; absent where the connection has no address. */
  readonly address?: string;
}

/** The answer of one worker. */
export interface WorkerAnswer<Answer> {
  readonly worker: number;
  readonly body: Answer;
}

/** One or more. */
export type WorkerAnswers<Answer> = readonly [WorkerAnswer<Answer>, ...WorkerAnswer<Answer>[]];

/** Members that a feature adds to the row of each server. */
export interface ServerMembers {
  /** Write their JSON Schemas, by name. */
  schemas(this: void): Readonly<Record<string, object>>;
}

/** The members in the process that has the servers. */
export interface OwnServerMembers extends ServerMembers {
  /** Those of a server, now. */
  read(): Promise<(server: string) => Readonly<Record<string, unknown>>>;
}

/** What features add to the pages of the gateway itself. */
export interface AddedToPages {
  /** The types of servers that they reach. */
  readonly serverTypes: readonly string[];
  readonly serverMembers: readonly ServerMembers[];
}

/** Of no features. */
export const NOTHING_ADDED: AddedToPages = { serverTypes: [], serverMembers: [] };

/** Everything about a page but its handler. */
export interface PageKind<Answer = unknown> {
  /** After `/api/v1/`. */
  readonly path: string;
  readonly summary: string;
  /** Parameters of the query; an exclamation mark ends the name of a required one. */
  readonly query?: readonly string[];
  /** Writes the JSON Schema of its answer, for the OpenAPI document. */
  answerSchema(this: void, added: AddedToPages): object;
  /** Makes one answer of those of all workers. Absent: the primary process answers by itself. */
  merge?(this: void, answers: WorkerAnswers<Answer>, query: URLSearchParams): Answer;
  /** Whether it always waits for starting servers; others do with `wait=true`. */
  readonly waits?: true;
  /** Whether each signed-in person may read it: the handler decides by the caller what it shows. Default: viewers and operators. */
  readonly isForPersons?: true;
  /** Whether it is a stream of such answers, which has a handler of its own. */
  readonly isStream?: true;
  /** The paths of the pages behind which it stands. Default: where those of features are. */
  readonly behind?: PagePlaces;
}

/** The orders in which pages are written. */
export interface PagePlaces {
  readonly inDocument: string;
  readonly inList: string;
}

/** `pages`, with those that have a place of their own behind others. */
export function inPlaces<Page extends PageKind>(
  pages: readonly Page[],
  order: keyof PagePlaces,
): readonly Page[] {
  const placed = pages.filter(({ behind }) => behind === undefined);
  for (const page of pages) {
    const path = page.behind?.[order];
    if (path !== undefined) placed.splice(placed.findIndex((other) => other.path === path) + 1, 0, page);
  }
  return placed;
}

/**
 * Answers a request; `signal` aborts when the client disconnects. `caller` is undefined for a local process without a token, where
 * the listener needs none. May throw a `BadQuery` or a `GatewayError`.
 */
export type PageHandler<Answer = unknown> = (
  query: URLSearchParams,
  signal: StopSignal,
  caller?: AdminCaller,
) => Answer | Promise<Answer>;

/** A page with its handler: what a listener serves. */
export interface AdminPage<Answer = unknown> extends PageKind<Answer> {
  readonly handler: PageHandler<Answer>;
}

/** What a page answers. */
export type AnswerOf<Kind> = Kind extends PageKind<infer Answer> ? Answer : never;

/** The page with its handler. */
export const served = <Answer>(
  kind: PageKind<Answer>,
  handler: PageHandler<NoInfer<Answer>>,
): AdminPage<Answer> => ({ ...kind, handler });

/** The merge of a page that is the same in each worker. */
export const firstAnswer = <Answer>([{ body }]: WorkerAnswers<Answer>): Answer => body;

/** Maximum rows of a page, the newest first. */
const MAX_ROWS = 1000;

/** The merge of a list: all rows, each with its worker. Rows that have a `time` are sorted by it, the newest first. */
export function rows<Row extends { readonly worker?: number | undefined; readonly time?: string }>(
  answers: WorkerAnswers<readonly Row[]>,
): readonly Row[] {
  return withWorkers(answers)
    .toSorted(({ time: a = "" }, { time: b = "" }) => b.localeCompare(a))
    .slice(0, MAX_ROWS);
}

/** All rows, each with the number of its worker. */
export const withWorkers = <Row>(
  answers: WorkerAnswers<readonly Row[]>,
): readonly (Row & { readonly worker: number })[] =>
  answers.flatMap(({ worker, body }) => body.map((row) => ({ ...row, worker })));

/** An invalid query of a page; the response carries its message. */
export class BadQuery extends Error {
  override readonly name = "BadQuery";
}
