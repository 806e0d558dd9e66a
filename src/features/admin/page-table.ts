/** The pages of the admin API, a row each, in the order of the OpenAPI document. Handlers are added by who serves them. */
import { z } from "zod";
import { type AddedToPages, firstAnswer, inPlaces, type PageKind, rows } from "../../core/admin-page.js";
import { PRINCIPAL_QUERY, page } from "../../http/page-schema.js";
import * as schemas from "./api-schemas.js";
import * as merge from "./merge-pages.js";

const FILTERS = ["principal", "server", "tool", "outcome"];

interface RowSchema {
  readonly properties: object;
  readonly required: readonly string[];
}

/** Makes the row of a page whose rows are servers, to which features add members. */
const serversPage = <Answer>(kind: PageKind<Answer>): PageKind<Answer> => ({
  ...kind,
  answerSchema(added: AddedToPages) {
    const list = kind.answerSchema(added) as { readonly items: RowSchema };
    const { properties, required } = list.items;
    const more: object = Object.assign({}, ...added.serverMembers.map(({ schemas }) => schemas()));
    return {
      ...list,
      items: {
        ...list.items,
        properties: { ...properties, ...more },
        required: [...required, ...Object.keys(more)],
      },
    };
  },
});

/** The rows. */
export const PAGES = {
  status: page({
    path: "status",
    summary: "The gateway: version, process, readiness",
    schema: schemas.status,
  }),
  servers: serversPage(
    page({
      path: "servers",
      summary: "Each server and its state",
      schema: schemas.servers,
      merge: merge.servers,
    }),
  ),
  problems: page({
    path: "problems",
    summary: "What is wrong now, since when, and what to do",
    schema: schemas.problems,
    merge: merge.problems,
  }),
  catalog: page({
    path: "catalog",
    summary: "Tools, prompts and resources by exposed name",
    schema: schemas.catalog,
    merge: firstAnswer,
  }),
  lists: page({
    path: "lists",
    summary: "One list with whole entries, as a principal sees it",
    query: ["kind!", "at", "all", "capabilities", ...PRINCIPAL_QUERY],
    schema: schemas.lists,
    merge: firstAnswer,
    waits: true,
  }),
  sessions: page({
    path: "sessions",
    summary: "Hosts that are connected",
    schema: schemas.sessions,
    merge: rows,
  }),
  questions: page({
    path: "questions",
    summary: "Questions that wait for an answer",
    schema: schemas.questions,
    merge: rows,
  }),
  explain: page({
    path: "explain",
    summary: "Whether a call would be allowed, and why",
    query: ["name!", "args", "after", "wait", ...PRINCIPAL_QUERY],
    schema: schemas.explanation,
    merge: firstAnswer,
  }),
  calls: page({
    path: "calls",
    summary: "The last calls, the newest first",
    query: ["limit", ...FILTERS],
    schema: z.array(schemas.call),
    merge: merge.calls,
  }),
  runningCalls: page({
    path: "calls/running",
    summary: "Calls under way",
    schema: schemas.runningCalls,
    merge: rows,
  }),
  callStream: page({
    path: "calls/stream",
    summary: "Calls as they end",
    query: FILTERS,
    schema: schemas.call,
    isStream: true,
  }),
  history: page({
    path: "history",
    summary: "The last hour in numbers, of all calls or of those of one server",
    query: ["server"],
    schema: schemas.history,
    merge: merge.history,
  }),
  disabledTools: page({
    path: "tools/disabled",
    summary: "Tools that are disabled until the next reload",
    schema: schemas.disabledTools,
    merge: firstAnswer,
  }),
  config: page({
    path: "config",
    summary: "The config in effect, secrets masked",
    schema: schemas.config,
    merge: firstAnswer,
  }),
  cluster: page({
    path: "cluster",
    summary: "The replicas of the cluster; none without a cluster",
    schema: schemas.cluster,
    merge: firstAnswer,
  }),
  workers: page({
    path: "workers",
    summary: "Each worker process; only with several workers",
    schema: schemas.workers,
  }),
};

/** The same as a list. */
export const PAGE_TABLE: readonly PageKind[] = Object.values(PAGES);

/** With those of features, which stand before the calls if they name no other place. */
export function withFeaturePages(pages: readonly PageKind[]): readonly PageKind[] {
  const at = PAGE_TABLE.indexOf(PAGES.calls);
  return inPlaces([...PAGE_TABLE.slice(0, at), ...pages, ...PAGE_TABLE.slice(at)], "inDocument");
}
