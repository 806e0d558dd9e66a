/** What does a client get of a kept result? A page, or matches of a search, within the budget of the tool that made it. */
import type { Call, Handler } from "../../../core/call.js";
import { NOT_CACHEABLE } from "../../../core/call.js";
import { badRequest, GatewayError } from "../../../core/errors.js";
import { runSteps } from "../../../runtime/cooperative-yield.js";
import { isObject, type JsonObject, stringAt } from "../../../wire/json.js";
import { parseJson, writeJson } from "../../../wire/json-text.js";
import { Payload } from "../../../wire/payload.js";
import type { KeptResult, KeptResults } from "../kept-results.js";
import { READ_RESULT, RESULT_SCHEME } from "../own-tool.js";
import { type Document, partOf } from "./document.js";
import { lineWidth, type Page, pageOf } from "./page.js";
import { type ReadQuery, readArguments, readUri } from "./read-arguments.js";
import { finderOf, searched } from "./search.js";

/** What a page takes besides its text (characters of JSON). */
const FRAME = 202;
/** Hosts show a model the content of a result or its structure, so the text is in both, and both are in the budget. */
const COPIES = 2;
/** The same where it is a resource: URIs and the note about the next page. */
const RESOURCE_FRAME = 300;

/** Answers `read_result`. @throws GatewayError `bad_request`, and `result_gone` where this client has no such result */
export function readTool(kept: KeptResults): Handler {
  return async function readTool({ params, client }) {
    const query = readArguments(params.arguments);
    const result = found(kept, client, query.id);
    const { text, ...position } = await pageFor(result, query, (result.pageCharacters - FRAME) / COPIES);
    const structuredContent = { text, ...(position.next === undefined ? withoutNext(position) : position) };
    return {
      kind: "result",
      result: Payload.ofObject({ content: [{ type: "text", text }], structuredContent }),
    };
  };
}

/** Answers `resources/read` of a kept result's URI: the page that its parameters say. */
export function readResource(kept: KeptResults): Handler {
  return async function readResource({ params, client }) {
    const uri = stringAt(params, "uri") ?? "";
    const query = readUri(uri);
    const result = found(kept, client, query.id);
    const room = result.pageCharacters - RESOURCE_FRAME - 2 * uri.length;
    const page = await pageFor(result, query, Math.max(50, room));
    const { text, total, offset, next, unit } = page;
    const mimeType = unit === "items" && query.search === undefined ? "application/json" : "text/plain";
    const contents: JsonObject[] = [{ uri, mimeType, text }];
    const what = query.search === undefined ? unit : "matches";
    if (next !== undefined) {
      const nextUri = uriOf({ ...query, offset: next });
      contents.push({
        uri: nextUri,
        mimeType: "text/plain",
        text: `[${what} ${offset} to ${next - 1} of ${total}; read ${nextUri} for the next]`,
      });
    } else if (query.search !== undefined || offset > 0)
      contents.push({ uri, mimeType: "text/plain", text: `[${what} from ${offset} to the end of ${total}]` });
    return { kind: "result", result: Payload.ofObject({ contents }), freshness: NOT_CACHEABLE };
  };
}

const withoutNext = ({ total, offset, unit }: Omit<Page, "text">) => ({ total, offset, unit });

/** One sentence for all reasons: an id says nothing about the results of others. */
function found(kept: KeptResults, client: Call["client"], id: string): KeptResult {
  const result = kept.read(client, id);
  if (result !== undefined) return result;
  throw new GatewayError(
    "result_gone",
    "gateway",
    "there is no such result (any more): call the tool again that has made it",
    { retryable: false },
  );
}

async function pageFor(result: KeptResult, query: ReadQuery, room: number): Promise<Page> {
  const { path, search, offset, limit } = query;
  const document = documentAt(result, path);
  const width = lineWidth(result.pageCharacters);
  if (search !== undefined)
    return runSteps(searched(document, finder(search), { offset, limit, room }, width));
  const page = pageOf(document, { offset, limit, room }, width);
  const isBeyond = offset > 0 && offset >= page.total;
  return isBeyond ? { ...page, text: `(nothing: there are ${page.total} ${page.unit})` } : page;
}

function documentAt({ members }: KeptResult, path: string): Document {
  const whole = parseJson(`{${members.toString()}`);
  if (!isObject(whole)) throw new TypeError("a kept result must be an object");
  try {
    const part = partOf(whole, path);
    if (part !== undefined) return part;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw malformed(`needs "path" to be a JSON pointer, such as /rows/7: it ${error.message}`);
  }
  throw malformed(
    `found nothing at ${writeJson(path.slice(0, 200))}; "path" is a JSON pointer such as /rows/7`,
  );
}

function finder(search: string) {
  try {
    return finderOf(search);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw malformed(`cannot search: ${error.message.slice(0, 200)}`);
  }
}

function uriOf({ id, offset, limit, path, search }: ReadQuery): string {
  const parameters = new URLSearchParams({
    ...(path !== "" && { path }),
    ...(search !== undefined && { search }),
    offset: String(offset),
    ...(Number.isFinite(limit) && { limit: String(limit) }),
  });
  return `${RESULT_SCHEME}${id}?${parameters.toString()}`;
}

const malformed = (what: string): GatewayError => badRequest(`${READ_RESULT} ${what}`);
