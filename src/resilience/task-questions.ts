/** Which questions of a task reach the host that asks for it? Each is evaluated once; the others are answered in its place. */
import { LRUCache } from "lru-cache";
import type { Call, Handler, Reply, Route } from "../core/call.js";
import { principalKey } from "../core/principal.js";
import { type JsonObject, objectAt, stringAt, without } from "../wire/json.js";
import { Payload } from "../wire/payload.js";
import { evaluateQuestions, type QuestionRules, withRefusals } from "./refused-questions.js";

/** The questions of one task. */
interface EvaluatedTask {
  /** The decisions on the questions that the server sent last, by key; keys are unique within a task. */
  readonly decisions: Map<string, unknown>;
  /** How many there have been. */
  count: number;
  /** Set while questions are evaluated; a reply with the same questions waits for the decisions. */
  pending?: ReturnType<typeof evaluateQuestions> | undefined;
}

/** The decision on a refused question. */
const REFUSED = Symbol("refused");

/** Evaluates the questions of tasks, once each. */
export class TaskQuestions {
  readonly #rules: QuestionRules;
  /** By principal and handle. After eviction each question is evaluated, and counted, again. */
  readonly #tasks = new LRUCache<string, EvaluatedTask>({ max: 5_000 });

  constructor(rules: QuestionRules) {
    this.#rules = rules;
  }

  /**
   * `reply` to `tasks/get` with the questions that may be asked. The others are answered through `next`, as a
   * person who declines would; a task that cannot be answered so is cancelled.
   */
  async filterReply(call: Call, route: Route, reply: Reply, next: Handler): Promise<Reply> {
    if (call.method !== "tasks/get" || reply.kind !== "result") return reply;
    const { object } = reply.result;
    const questions = objectAt(object, "inputRequests");
    if (questions === undefined) return reply;
    const task = await this.#evaluate(call, route, questions, next);
    const asked = Object.entries(questions).flatMap(([key]): readonly [string, unknown][] => {
      const decision = task.decisions.get(key);
      return decision === REFUSED ? [] : [[key, decision]];
    });
    const left =
      asked.length > 0
        ? { ...object, inputRequests: Object.fromEntries(asked) }
        : // It was answered, and continues.
          { ...without(object, ["inputRequests"]), status: "working" };
    return { ...reply, result: Payload.ofObject(left) };
  }

  async #evaluate(call: Call, route: Route, questions: JsonObject, next: Handler): Promise<EvaluatedTask> {
    const task = `${principalKey(call.client.principal)}\0${stringAt(call.params, "taskId") ?? ""}`;
    const evaluated = this.#tasks.get(task) ?? { decisions: new Map<string, unknown>(), count: 0 };
    this.#tasks.set(task, evaluated);
    while (evaluated.pending !== undefined) await evaluated.pending;
    const { decisions } = evaluated;
    // A question that is no longer sent was answered.
    for (const key of decisions.keys()) if (!Object.hasOwn(questions, key)) decisions.delete(key);
    const fresh = Object.fromEntries(Object.entries(questions).filter(([key]) => !decisions.has(key)));
    if (Object.keys(fresh).length === 0) return evaluated;
    // Each question of a task stands for itself, so the one that comes next is a round of its own.
    const evaluation = evaluateQuestions(this.#rules, call, route, fresh, evaluated.count + 1);
    evaluated.pending = evaluation.finally(() => {
      evaluated.pending = undefined;
    });
    const { asked, refused } = await evaluated.pending;
    evaluated.count += Object.keys(fresh).length;
    for (const [key, question] of Object.entries(asked)) decisions.set(key, question);
    for (const key of Object.keys(refused)) decisions.set(key, REFUSED);
    if (Object.keys(refused).length === 0) return evaluated;
    try {
      await refuse(call, refused, next);
    } catch (error) {
      // The refusal has not reached the server, so it is sent again with the next reply.
      for (const key of Object.keys(refused)) decisions.delete(key);
      evaluated.count -= Object.keys(refused).length;
      throw error;
    }
    return evaluated;
  }
}

async function refuse(call: Call, refused: Parameters<typeof withRefusals>[1], next: Handler): Promise<void> {
  const { responses } = withRefusals(undefined, refused, undefined);
  const { taskId } = call.params;
  const answerable = Object.keys(refused).every((key) => Object.hasOwn(responses, key));
  const [method, params] = answerable
    ? ["tasks/update", { taskId, inputResponses: responses }]
    : // A completion cannot be made up, and a server that waits for one would wait for ever.
      ["tasks/cancel", { taskId }];
  await next({ ...call, method, params });
}
