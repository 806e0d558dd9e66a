/** Which tool result is the answer of an API? */
import { STATUS_CODES } from "node:http";
import { LARGE_BYTES, runSteps } from "../../runtime/cooperative-yield.js";
import { headerOf, type ResponseHeaders } from "../../upstream/transport/message-bodies.js";
import { PrototypeMemberError } from "../../wire/envelope.js";
import { isObject, type JsonObject, objectAt } from "../../wire/json.js";
import { exceedsDepth } from "../../wire/json-scan.js";
import { parseJson } from "../../wire/json-text.js";
import { parseInSteps } from "../../wire/parse-in-steps.js";
import { prototypeMembers, prototypeMembersInSteps } from "../../wire/prototype-members.js";
import type { ApiAnswer } from "./api-exchange.js";
import { outputMisfit } from "./fits-output.js";
import type { Operation } from "./operation.js";
import { isJsonType } from "./responses.js";

/** The beginning of an error's body (characters) that a model gets. */
const EXCERPT_LENGTH = 4_096;
/** As for messages of servers. */
const MAX_DEPTH = 512;

/** What an answer becomes. */
export interface ReadAnswer {
  /** The result of `tools/call`. */
  readonly result: JsonObject;
  /** Why a success does not fit the output schema of the tool, without values. */
  readonly misfit?: string;
}

/**
 * The result of `tools/call`. `url` is the request's, without what the config adds to it.
 *
 * @throws PrototypeMemberError
 */
export async function readAnswer(operation: Operation, answer: ApiAnswer, url: string): Promise<ReadAnswer> {
  const { status, headers, body } = answer;
  const isRedirect = status >= 300 && status < 400;
  if (status >= 400 || (isRedirect && !operation.redirects)) return { result: failure(operation, answer) };
  const mediaType = mediaTypeOf(headers);
  if (isRedirect || body.length === 0) return withoutBody(operation, answer);
  if (isTextType(mediaType)) return textResult(operation, answer, mediaType);
  const data = body.toString("base64");
  const block = mediaType.startsWith("image/")
    ? { type: "image", data, mimeType: mediaType }
    : mediaType.startsWith("audio/")
      ? { type: "audio", data, mimeType: mediaType }
      : { type: "resource", resource: { uri: url, mimeType: mediaType, blob: data } };
  return operation.declaresObject ? noObject(operation, answer, [block]) : { result: result(block) };
}

const result = (block: JsonObject): JsonObject => ({ content: [block] });
const text = (words: string): JsonObject => ({ type: "text", text: words });
const failed = (words: string): JsonObject => ({ content: [text(words)], isError: true });

const mediaTypeOf = (headers: ResponseHeaders): string =>
  (headerOf(headers, "content-type") ?? "application/octet-stream").split(";")[0]?.trim().toLowerCase() ?? "";

/** SVG is text, and an image that few hosts show. */
const isTextType = (mediaType: string): boolean =>
  isJsonType(mediaType) ||
  /^text\//.test(mediaType) ||
  /^(application|image)\/([\w.-]+\+)?(xml|yaml|x-yaml|javascript|graphql|x-ndjson|ndjson|x-www-form-urlencoded|toml|sql|x-sh)$/.test(
    mediaType,
  );

async function textResult(operation: Operation, answer: ApiAnswer, mediaType: string): Promise<ReadAnswer> {
  const words = decoded(answer);
  const value = isJsonType(mediaType) ? await parsed(words) : undefined;
  const content = [text(words)];
  if (!isObject(value))
    return operation.declaresObject ? noObject(operation, answer, content) : { result: { content } };
  const schema = operation.declaresObject ? objectAt(operation.tool, "outputSchema") : undefined;
  const misfit = schema === undefined ? undefined : await runSteps(outputMisfit(value, schema));
  if (misfit !== undefined) return unfit(operation, answer, content, misfit);
  return { result: { content, structuredContent: value } };
}

/**
 * The value of a JSON text; undefined where it is none. A long one is parsed in steps.
 *
 * @throws PrototypeMemberError: an API's answer becomes a result, so what holds for results of servers holds for it
 */
async function parsed(words: string): Promise<unknown> {
  const isLarge = words.length >= LARGE_BYTES;
  let value: unknown;
  try {
    if (!isLarge && exceedsDepth(words, MAX_DEPTH)) return undefined;
    value = isLarge ? await runSteps(parseInSteps(words, MAX_DEPTH)) : parseJson(words);
  } catch {
    return undefined;
  }
  const members = isLarge ? await runSteps(prototypeMembersInSteps(words)) : prototypeMembers(words);
  const [member] = isObject(value) ? members : [];
  if (member !== undefined) throw new PrototypeMemberError(member);
  return value;
}

function withoutBody(operation: Operation, answer: ApiAnswer): ReadAnswer {
  if (operation.declaresObject) return noObject(operation, answer, []);
  const { status, headers } = answer;
  const location = headerOf(headers, "location");
  const what = `${statusText(status)}${location === undefined ? "" : `, Location: ${location}`}`;
  return { result: { content: [text(what)] } };
}

function noObject(operation: Operation, answer: ApiAnswer, content: readonly JsonObject[]): ReadAnswer {
  const { headers, body } = answer;
  const what = body.length === 0 ? "has no body" : `is ${mediaTypeOf(headers)} and no JSON object`;
  return unfit(operation, answer, content, `it ${what}, and the OpenAPI document declares a JSON object`);
}

/**
 * A success that does not fit the output schema: all that the API has sent, without structured content. Hosts refuse a
 * result that has an output schema and no structured content, unless it is an error (server/tools, "Output Schema").
 */
function unfit(
  { method, path }: Operation,
  { status }: ApiAnswer,
  content: readonly JsonObject[],
  misfit: string,
): ReadAnswer {
  const note = `The call succeeded (${method} ${path}: ${statusText(status)}); do not repeat it. Only its answer does not fit the tool's output schema (${misfit}), and hosts take such an answer as an error.${content.length === 0 ? "" : " All that the API has sent is above."}`;
  return { result: { content: [...content, text(note)], isError: true }, misfit };
}

function failure(operation: Operation, answer: ApiAnswer): JsonObject {
  const { status, headers } = answer;
  const location = headerOf(headers, "location");
  const hint =
    status === 401 || status === 403
      ? '. The credentials are those in "headers" of this server in the config of the gateway'
      : status < 400 && location !== undefined
        ? `, to ${location}, which is not followed`
        : "";
  return failed(
    `${operation.method} ${operation.path} answered ${statusText(status)}${hint}${excerptOf(answer)}`,
  );
}

const statusText = (status: number): string => `${status} ${STATUS_CODES[status] ?? ""}`.trim();

function excerptOf(answer: ApiAnswer): string {
  const { headers, body } = answer;
  if (body.length === 0) return "";
  const mediaType = mediaTypeOf(headers);
  if (!isTextType(mediaType)) return ` (${body.length} bytes of ${mediaType})`;
  const words = decoded({ ...answer, body: body.subarray(0, 4 * EXCERPT_LENGTH) });
  return `:\n${words.length > EXCERPT_LENGTH ? `${words.slice(0, EXCERPT_LENGTH).toWellFormed()}…` : words}`;
}

/** By the charset of the content type; UTF-8 where it names none, or one that is not known. */
function decoded({ headers, body }: ApiAnswer): string {
  const [, charset = "utf-8"] =
    /;\s*charset="?([\w.:-]+)/i.exec(headerOf(headers, "content-type") ?? "") ?? [];
  try {
    return new TextDecoder(charset).decode(body);
  } catch {
    return body.toString("utf8");
  }
}
