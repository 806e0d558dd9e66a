/** Reads the parameters of pages. */
import { BadQuery } from "../../core/admin-page.js";
import { MAX_CAPABILITIES_LENGTH } from "../../core/client.js";
import { LIST_KINDS, type ListKind } from "../../core/lists.js";
import { type ExplainQuery, readPrincipalQuery } from "../../gateway/views/explain.js";
import { prototypeMemberSentence } from "../../wire/envelope.js";
import { isObject, type JsonObject } from "../../wire/json.js";
import { parseJson } from "../../wire/json-text.js";
import { prototypeMembers } from "../../wire/prototype-members.js";

/** `kind=…` of `GET /api/v1/lists`. @throws BadQuery */
export function readListKind(query: URLSearchParams): ListKind {
  const kind = LIST_KINDS.find((each) => each === query.get("kind"));
  if (kind === undefined) throw new BadQuery(`kind=… is one of ${LIST_KINDS.join(", ")}`);
  return kind;
}

/** `capabilities=…` of `GET /api/v1/lists`. @throws BadQuery */
export function readCapabilities(query: URLSearchParams): JsonObject | undefined {
  const text = query.get("capabilities");
  if (text === null) return undefined;
  const problem = `capabilities=… is a JSON object of at most ${MAX_CAPABILITIES_LENGTH} characters`;
  if (text.length > MAX_CAPABILITIES_LENGTH) throw new BadQuery(problem);
  try {
    const value = parseJson(text);
    if (isObject(value)) return value;
  } catch (cause) {
    throw new BadQuery(problem, { cause });
  }
  throw new BadQuery(problem);
}

/** How many calls may be supposed to have been made before. */
const MAX_AFTER = 100;

/**
 * `?name=…&args={…}&after=…&after=…&as=…&group=…&group=…&scope=…`
 *
 * @throws BadQuery if the name is missing or the arguments are not a JSON object
 */
export function readExplainQuery(query: URLSearchParams): ExplainQuery {
  const name = query.get("name");
  if (name === null || name === "") throw new BadQuery("name=… says which tool, prompt, resource or method");
  const after = query.getAll("after");
  if (after.length > MAX_AFTER) throw new BadQuery(`after=… may be there ${MAX_AFTER} times`);
  const args = readArgs(query.get("args") ?? "{}");
  return { name, args, ...(after.length > 0 && { after }), ...readPrincipalQuery(query) };
}

function readArgs(text: string): JsonObject {
  let args: unknown;
  try {
    args = parseJson(text);
  } catch (cause) {
    throw new BadQuery("args=… must be JSON", { cause });
  }
  if (!isObject(args)) throw new BadQuery("args=… must be a JSON object");
  const [member] = prototypeMembers(text);
  if (member !== undefined) throw new BadQuery(prototypeMemberSentence(member));
  return args;
}
