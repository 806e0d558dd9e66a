/** How long may names, ids, cursors and states in messages be? They are stored, compared and logged. */
import { type Batch, type Envelope, FrameError, isBatch } from "./envelope.js";
import { isObject, type JsonObject } from "./json.js";
import { META } from "./names.js";

/** Limit (characters) of methods, ids, names, URIs, tokens. A URI of this length fits into a header of 16 KiB. */
export const MAX_NAME_LENGTH = 4_096;
/**
 * Limit (characters) of cursors and states from a server. Higher than for names, because stateless servers store their
 * state in them.
 */
export const MAX_STATE_LENGTH = 65_536;

/** Limits (characters) by peer; hosts send back sealed states and task handles, which are a third longer. */
interface LengthLimits {
  readonly state: number;
  readonly task: number;
}
const OF_SERVERS: LengthLimits = { state: MAX_STATE_LENGTH, task: MAX_NAME_LENGTH };
const OF_HOSTS: LengthLimits = { state: 2 * MAX_STATE_LENGTH, task: 2 * MAX_NAME_LENGTH };

const NAMES: ReadonlySet<string> = new Set([
  "name",
  "uri",
  "requestId",
  "progressToken",
  "elicitationId",
  "level",
  "logger",
  "protocolVersion",
]);
const STATES: ReadonlySet<string> = new Set(["cursor", "nextCursor", "requestState"]);
/** Objects in `params` that contain names. */
const NAMING_OBJECTS: ReadonlySet<string> = new Set(["ref", "argument", "task"]);
/** Objects in `params` whose keys are names. */
const KEYED_OBJECTS: ReadonlySet<string> = new Set(["inputResponses", "inputRequests"]);
const META_NAMES: readonly string[] = [
  META.progressToken,
  META.protocolVersion,
  META.logLevel,
  META.subscriptionId,
];

/**
 * Checks a document of a host; in a batch, a message over a limit is replaced by its error.
 *
 * @param length of the whole text in characters; a text shorter than every limit is not searched
 * @throws FrameError (-32602, -32600 for the frame) that names the member.
 */
export function checkHostLengths(document: Envelope | Batch, length: number): Envelope | Batch {
  if (length <= MAX_NAME_LENGTH) return document;
  if (isBatch(document)) return document.map(checkBatchMember);
  checkMessage(document, OF_HOSTS);
  return document;
}

function checkBatchMember(member: Envelope | FrameError): Envelope | FrameError {
  if (member instanceof FrameError) return member;
  try {
    checkMessage(member, OF_HOSTS);
    return member;
  } catch (error) {
    if (error instanceof FrameError) return error;
    throw error;
  }
}

/** The same for one message of a server. @throws FrameError */
export function checkServerLengths(message: Envelope, length: number = MAX_NAME_LENGTH + 1): void {
  if (length > MAX_NAME_LENGTH) checkMessage(message, OF_SERVERS);
}

function checkMessage(message: Envelope, most: LengthLimits): void {
  const { id, method, params, result } = message;
  if (typeof id === "string" && id.length > MAX_NAME_LENGTH) throw tooLong(-32600, "id", id, MAX_NAME_LENGTH);
  if (method !== undefined && method.length > MAX_NAME_LENGTH)
    throw tooLong(-32600, "method", method, MAX_NAME_LENGTH, id);
  const found = params === undefined ? undefined : findOverlong(params, "params", most);
  const other = found ?? (result === undefined ? undefined : findOverlong(result, "result", most));
  if (other !== undefined) throw tooLong(-32602, other.path, other.text, other.longest, id);
}

interface Overlong {
  readonly path: string;
  readonly text: string;
  readonly longest: number;
}

function findOverlong(object: JsonObject, path: string, most: LengthLimits): Overlong | undefined {
  for (const key in object) {
    const value = object[key];
    const found =
      typeof value === "string"
        ? longText(key, value, path, most)
        : isObject(value)
          ? overlongIn(key, value, path, most)
          : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

function longText(key: string, text: string, path: string, most: LengthLimits): Overlong | undefined {
  const longest = limitFor(key, most);
  if (longest === undefined) return undefined;
  return text.length > longest ? { path: `${path}.${key}`, text, longest } : undefined;
}

function limitFor(key: string, { state, task }: LengthLimits): number | undefined {
  if (NAMES.has(key)) return MAX_NAME_LENGTH;
  if (key === "taskId") return task;
  return STATES.has(key) ? state : undefined;
}

function overlongIn(key: string, value: JsonObject, path: string, most: LengthLimits): Overlong | undefined {
  if (NAMING_OBJECTS.has(key)) return findOverlong(value, `${path}.${key}`, most);
  if (KEYED_OBJECTS.has(key))
    return firstOverlong(Object.keys(value), `the name of a member of ${path}.${key}`);
  if (key === "notifications") return overlongInFilter(value, `${path}.${key}`);
  if (key !== "_meta") return undefined;
  const related = value[META.relatedTask];
  const names = META_NAMES.map((name) => value[name]);
  return (
    firstOverlong(names, `a name in ${path}._meta`) ??
    (isObject(related) ? findOverlong(related, `${path}._meta["${META.relatedTask}"]`, most) : undefined)
  );
}

/** The filter of `subscriptions/listen` has lists of URIs and of ids. */
const overlongInFilter = (filter: JsonObject, path: string): Overlong | undefined =>
  firstOverlong(
    Object.values(filter).flatMap((list) => (Array.isArray(list) ? (list as readonly unknown[]) : [])),
    `a name in ${path}`,
  );

function firstOverlong(names: readonly unknown[], path: string): Overlong | undefined {
  const text = names.find((name) => typeof name === "string" && name.length > MAX_NAME_LENGTH);
  return typeof text === "string" ? { path, text, longest: MAX_NAME_LENGTH } : undefined;
}

function tooLong(
  code: FrameError["code"],
  path: string,
  { length }: string,
  longest: number,
  id?: Envelope["id"],
): FrameError {
  return new FrameError(
    code,
    `${path} has ${length} characters, and may have ${longest}; send a shorter one`,
    id,
  );
}
