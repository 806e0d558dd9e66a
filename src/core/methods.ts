/** Which parameter of a method names its target, which methods ask a client, and which belong to tasks? */
import { isEmpty, type JsonObject, objectAt, stringAt } from "../wire/json.js";
import type { NamedTarget, Route } from "./call.js";
import type { ListKind } from "./lists.js";

/** A kind of server-to-client request, by the client capability that allows it. */
export type QuestionKind = "sampling" | "elicitation" | "roots";

/** The kind of input a call waits for; `approval` is requested by the gateway itself. */
export type InputKind = QuestionKind | "approval";

const QUESTIONS: ReadonlyMap<unknown, QuestionKind> = new Map([
  ["sampling/createMessage", "sampling"],
  ["elicitation/create", "elicitation"],
  ["roots/list", "roots"],
]);

/** The kind of a server-to-client request; undefined for others (2026-07-28: basic/patterns/mrtr, "InputRequests"). */
export const questionKind = ({ method }: { readonly method?: unknown }): QuestionKind | undefined =>
  QUESTIONS.get(method);

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

const targetNamedBy = (kind: ListKind, key: "name" | "uri"): TargetedMethod => ({
  needs: `a "${key}"`,
  read: (params) => {
    const name = stringAt(params, key);
    return name === undefined ? undefined : { kind, name };
  },
  write: (params, target) => ({ ...params, [key]: target }),
});

/** Methods that are routed by a target. */
export const TARGETED_METHODS: Readonly<Record<string, TargetedMethod>> = {
  "tools/call": targetNamedBy("tools", "name"),
  "prompts/get": targetNamedBy("prompts", "name"),
  "resources/read": targetNamedBy("resources", "uri"),
  "resources/subscribe": targetNamedBy("resources", "uri"),
  "resources/unsubscribe": targetNamedBy("resources", "uri"),
  // Of the skills extension (SEP-2640); folders are resources, and a skill is named by the URI of its first file.
  "resources/directory/read": targetNamedBy("resources", "uri"),
  "skills/get": targetNamedBy("resources", "uri"),
  "completion/complete": {
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
  },
};

/** The target of a call, read from its own parameters. */
export function targetOf(method: string, params: JsonObject): Target | undefined {
  return Object.hasOwn(TARGETED_METHODS, method) ? TARGETED_METHODS[method]?.read(params) : undefined;
}

/** The parameters with the target replaced by the server's own name for it. */
export function retarget(method: string, params: JsonObject, target: string): JsonObject {
  return Object.hasOwn(TARGETED_METHODS, method)
    ? (TARGETED_METHODS[method]?.write(params, target) ?? params)
    : params;
}

/** The route of a method that has no target, at one server. */
export const methodRoute = (
  upstream: string,
  method: string,
  namedTargets: readonly NamedTarget[] = [],
): Route => ({
  upstream,
  target: method,
  exposed: method,
  kind: "methods",
  ...(namedTargets.length > 0 && { namedTargets }),
});

/** Where servers and clients declare tasks as an extension (SEP-2663). */
export const TASKS_EXTENSION = "io.modelcontextprotocol/tasks";

/** Methods about one task, which their `taskId` names. A task continues after its call was answered. */
export const TASK_METHODS: ReadonlySet<string> = new Set([
  "tasks/get",
  "tasks/result",
  "tasks/update",
  "tasks/cancel",
]);

/** Whether a server with these capabilities may create tasks: `tasks` of 2025-11-25, or the extension. */
export const supportsTasks = (capabilities: JsonObject | undefined): boolean =>
  objectAt(capabilities, "tasks") !== undefined ||
  objectAt(objectAt(capabilities, "extensions"), TASKS_EXTENSION) !== undefined;

/** Whether a client may request that a tool call runs as a task (2025-11-25: basic/utilities/tasks). */
export const supportsTaskCalls = (capabilities: JsonObject | undefined): boolean =>
  objectAt(objectAt(objectAt(objectAt(capabilities, "tasks"), "requests"), "tools"), "call") !== undefined;

/** Whether the server supports `tasks/list`. */
export const supportsTaskList = (capabilities: JsonObject | undefined): boolean =>
  objectAt(objectAt(capabilities, "tasks"), "list") !== undefined;

/** A subscription to the changes of some tasks. */
export interface TaskSubscription {
  /** The tasks of which changes will be reported; the server has not agreed to the others. */
  readonly ids: readonly string[];
  readonly stop: () => void;
}

/** Receives changes of tasks. */
export interface TaskListener<Change> {
  readonly changed: (change: Change) => void;
  /** No further changes will be reported. */
  readonly lost: () => void;
}

/**
 * The missing members of `capabilities[kind]`, empty if the whole capability is missing; undefined if nothing is
 * (2025-11-25 and 2026-07-28: client/elicitation and client/sampling, "Capabilities").
 */
export function missingCapability(
  kind: QuestionKind,
  params: JsonObject | undefined,
  capabilities: JsonObject,
): JsonObject | undefined {
  const declared = objectAt(capabilities, kind);
  const needed = requiredCapability(kind, params ?? {});
  if (declared === undefined) return kind === "elicitation" && needed === FORM ? {} : needed;
  // `elicitation: {}` means form mode.
  if (needed === FORM && isEmpty(declared)) return undefined;
  return Object.keys(needed).every((member) => objectAt(declared, member) !== undefined) ? undefined : needed;
}

const FORM: JsonObject = { form: {} };
const LINK: JsonObject = { url: {} };
const TOOLS: JsonObject = { tools: {} };
const NO_MEMBERS: JsonObject = {};

function requiredCapability(kind: QuestionKind, params: JsonObject): JsonObject {
  if (kind === "elicitation") return params.mode === "url" ? LINK : FORM;
  const hasTools = Object.hasOwn(params, "tools") || Object.hasOwn(params, "toolChoice");
  return kind === "sampling" && hasTools ? TOOLS : NO_MEMBERS;
}
