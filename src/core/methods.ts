/** The methods of MCP and of its extensions for skills and tasks: the only table of them. All else derives from it. */
import { type JsonObject, objectAt, stringAt } from "../wire/json.js";
import { LIST_METHODS, type ListKind } from "./lists.js";

/** A kind of server-to-client request, by the client capability that allows it. */
export type QuestionKind = "sampling" | "elicitation" | "roots";

/** The kind of input a call waits for; `approval` is requested by the gateway itself. */
export type InputKind = QuestionKind | "approval";

/** A target as the parameters of a call name it. */
export interface Target {
  readonly kind: ListKind;
  readonly name: string;
}

interface TargetedMethod {
  /** What the parameters must contain, for error messages. */
  readonly needs: string;
  /** The target; undefined when the parameters name none. */
  read(params: JsonObject): Target | undefined;
  /** The same parameters with another target. */
  write(params: JsonObject, target: string): JsonObject;
}

/** Who answers the requests of a method. */
type Answerer =
  /** The edge of the host's era; no server receives them. */
  | "edge"
  /** The catalog, with what the caller may see. */
  | "catalog"
  /** The server that owns the target. */
  | "target"
  /** The server that runs the task. */
  | "task"
  /** Every server that has the method; the gateway merges the answers. */
  | "every server"
  /** The host: servers send them. */
  | "host";

/** What the gateway knows of a method. */
interface Method {
  /** The revisions that have it: those until 2025-11-25, 2026-07-28, or all. Only the edges of the eras read this. */
  readonly revisions: "all" | "legacy" | "modern";
  readonly answeredBy: Answerer;
  /** Of `answeredBy: "target"`: how the target is found and replaced. */
  readonly target?: TargetedMethod;
  /** The parameter that the `Mcp-Name` header repeats (2026-07-28: basic/transports/streamable-http, "Request Metadata"). */
  readonly mirrors?: "name" | "uri" | "taskId";
  /** The extension that defines it. */
  readonly extension?: string;
  /** Of `answeredBy: "host"`: the kind of question. */
  readonly question?: QuestionKind;
  /** It has no side effects and can be repeated. */
  readonly isRead?: true;
  /** Its results carry caching hints (2026-07-28: server/utilities/caching, "Cacheable Results"; for skills SEP-2640). */
  readonly isCacheable?: true;
  /** It may be answered with `input_required` and sent again with the answers (basic/patterns/mrtr, "Supported Requests"). */
  readonly isResumable?: true;
  /**
   * The client may be asked while it runs (2026-07-28, basic/patterns/mrtr; for questions of tasks 2025-11-25,
   * basic/utilities/tasks, "Input Required Status").
   */
  readonly isInteractive?: true;
}

/** Where servers and clients declare tasks as an extension (SEP-2663). */
export const TASKS_EXTENSION = "io.modelcontextprotocol/tasks";
/** Where servers declare skills (SEP-2640). */
export const SKILLS_EXTENSION = "io.modelcontextprotocol/skills";

const namedBy = (kind: ListKind, key: "name" | "uri"): TargetedMethod => ({
  needs: `a "${key}"`,
  read: (params) => {
    const name = stringAt(params, key);
    return name === undefined ? undefined : { kind, name };
  },
  write: (params, target) => ({ ...params, [key]: target }),
});

const TOOL = namedBy("tools", "name");
const PROMPT = namedBy("prompts", "name");
// Folders are resources, and a skill is named by the URI of its first file.
const RESOURCE = namedBy("resources", "uri");
const REFERENCE: TargetedMethod = {
  needs: 'a "ref" to it, by "name" or by "uri"',
  read: (params) => {
    const ref = objectAt(params, "ref");
    const name = stringAt(ref, "name");
    const uri = stringAt(ref, "uri");
    // With both, policy would check one and the server might use the other.
    if (name !== undefined && uri !== undefined) return undefined;
    if (stringAt(ref, "type") === "ref/prompt" && name !== undefined) return { kind: "prompts", name };
    return uri === undefined ? undefined : { kind: "resourceTemplates", name: uri };
  },
  write: (params, target) => {
    const ref = objectAt(params, "ref") ?? {};
    const key = stringAt(ref, "type") === "ref/prompt" ? "name" : "uri";
    return { ...params, ref: { ...ref, [key]: target } };
  },
};

const LIST: Method = { revisions: "all", answeredBy: "catalog", isRead: true, isCacheable: true };
const TO_TARGET = { revisions: "all", answeredBy: "target" } as const;
const RESUMABLE = { isResumable: true, isInteractive: true } as const;
const OF_SKILLS = { revisions: "all", extension: SKILLS_EXTENSION, isRead: true } as const;
const OF_TASKS = { answeredBy: "task", extension: TASKS_EXTENSION, mirrors: "taskId" } as const;
const QUESTION = { revisions: "all", answeredBy: "host" } as const;

/** Every method, in no order that matters. */
export const METHODS: Readonly<Record<string, Method>> = {
  initialize: { revisions: "legacy", answeredBy: "edge" },
  ping: { revisions: "legacy", answeredBy: "edge" },
  "logging/setLevel": { revisions: "legacy", answeredBy: "edge" },
  "server/discover": { revisions: "modern", answeredBy: "edge", isCacheable: true },
  "subscriptions/listen": { revisions: "modern", answeredBy: "edge" },

  ...Object.fromEntries([...LIST_METHODS.keys()].map((method) => [method, LIST])),

  "tools/call": { ...TO_TARGET, target: TOOL, mirrors: "name", ...RESUMABLE },
  "prompts/get": { ...TO_TARGET, target: PROMPT, mirrors: "name", ...RESUMABLE, isRead: true },
  "resources/read": {
    ...{ ...TO_TARGET, target: RESOURCE, mirrors: "uri", ...RESUMABLE },
    ...{ isRead: true, isCacheable: true },
  },
  "resources/subscribe": { revisions: "legacy", answeredBy: "target", target: RESOURCE },
  "resources/unsubscribe": { revisions: "legacy", answeredBy: "target", target: RESOURCE },
  "completion/complete": { ...TO_TARGET, target: REFERENCE, isRead: true },

  "skills/list": { ...OF_SKILLS, answeredBy: "every server", isCacheable: true },
  "skills/get": { ...OF_SKILLS, answeredBy: "target", target: RESOURCE, isCacheable: true },
  "resources/directory/read": { ...OF_SKILLS, answeredBy: "target", target: RESOURCE },

  "tasks/list": { revisions: "legacy", answeredBy: "every server", isRead: true },
  "tasks/result": { revisions: "legacy", answeredBy: "task", isRead: true, isInteractive: true },
  "tasks/get": { revisions: "all", ...OF_TASKS, isRead: true },
  "tasks/update": { revisions: "modern", ...OF_TASKS },
  "tasks/cancel": { revisions: "all", ...OF_TASKS },

  "sampling/createMessage": { ...QUESTION, question: "sampling" },
  "elicitation/create": { ...QUESTION, question: "elicitation" },
  "roots/list": { ...QUESTION, question: "roots" },
};

const entries = Object.entries(METHODS);

/** The names of the methods that are so. */
export const methodsWhere = (isSo: (method: Method) => boolean): ReadonlySet<string> =>
  new Set(entries.filter(([, method]) => isSo(method)).map(([name]) => name));

/** The values of a column, by the names of the methods that have one. */
export const methodColumn = <T>(read: (method: Method) => T | undefined): ReadonlyMap<string, T> =>
  new Map(
    entries.flatMap(([name, method]): [string, T][] => {
      const value = read(method);
      return value === undefined ? [] : [[name, value]];
    }),
  );

/** Methods that are routed by a target. */
export const TARGETED_METHODS: ReadonlyMap<string, TargetedMethod> = methodColumn(({ target }) => target);

/** Methods about one task, which their `taskId` names. A task continues after its call was answered. */
export const TASK_METHODS = methodsWhere(({ answeredBy }) => answeredBy === "task");

/** The only requests that may be answered with `input_required`, by a server or by the gateway itself. */
export const RESUMABLE_METHODS = methodsWhere(({ isResumable }) => isResumable === true);

/** The requests while which a client may be asked. */
export const INTERACTIVE_METHODS = methodsWhere(({ isInteractive }) => isInteractive === true);

const QUESTIONS: ReadonlyMap<unknown, QuestionKind> = methodColumn(({ question }) => question);
const MIRRORED_MEMBERS = methodColumn(({ mirrors }) => mirrors);

/** The kind of a server-to-client request; undefined for others (2026-07-28: basic/patterns/mrtr, "InputRequests"). */
export const questionKind = ({ method }: { readonly method?: unknown }): QuestionKind | undefined =>
  QUESTIONS.get(method);

/** The target of a call, read from its own parameters. */
export const targetOf = (method: string, params: JsonObject): Target | undefined =>
  TARGETED_METHODS.get(method)?.read(params);

/** The parameters with the target replaced by the server's own name for it. */
export const retarget = (method: string, params: JsonObject, target: string): JsonObject =>
  TARGETED_METHODS.get(method)?.write(params, target) ?? params;

/** The value of the `Mcp-Name` header, if any. */
export function mirroredName(method: string, params: JsonObject): string | undefined {
  const key = MIRRORED_MEMBERS.get(method);
  return key === undefined ? undefined : stringAt(params, key);
}
