/** Which questions of a server may be asked, and what does the server get in place of an answer to the others? */
import { type Call, type InputResponses, OWN_ROUND, type RoundState, type Route } from "../core/call.js";
import { GatewayError } from "../core/errors.js";
import { type QuestionKind, questionKind } from "../core/methods.js";
import { codeOf, type RpcError } from "../wire/envelope.js";
import { isObject, type JsonObject, stringAt } from "../wire/json.js";

/** Decides which questions may be asked. */
export interface QuestionRules {
  /** The request as it may be asked; undefined if it may not. `round` counts the rounds of questions of the call, from 1. */
  permit(
    call: Call,
    route: Route,
    kind: QuestionKind,
    request: JsonObject,
    round: number,
  ): JsonObject | undefined | Promise<JsonObject | undefined>;
  /** Whether the count of rounds must be kept for the next one. */
  readonly countsRounds: boolean;
}

/** The questions of one round, after evaluation. */
interface EvaluatedQuestions {
  /** Those that may be asked, as they may be asked. */
  readonly asked: JsonObject;
  /** Those that may not. */
  readonly refused: Readonly<Record<string, QuestionKind>>;
}

/** `round` counts the rounds of questions of this call, this one included. */
export async function evaluateQuestions(
  rules: QuestionRules,
  call: Call,
  route: Route,
  requests: JsonObject,
  round: number,
): Promise<EvaluatedQuestions> {
  const asked: [string, unknown][] = [];
  const refused: [string, QuestionKind][] = [];
  for (const [key, request] of Object.entries(requests)) {
    const kind = isObject(request) ? questionKind(request) : undefined;
    if (kind === undefined || !isObject(request)) throw unknownQuestion(route);
    const passed = await rules.permit(call, route, kind, request, round);
    if (passed === undefined) refused.push([key, kind]);
    else asked.push([key, passed]);
  }
  return { asked: Object.fromEntries(asked), refused: Object.fromEntries(refused) };
}

/**
 * The answers that a server gets to the questions it may not ask, together with those that the client gave.
 * A server that can receive errors gets the refusal as an error; for one that can only receive results, a person
 * who declines and a host without roots are the nearest thing, and a completion cannot be made up. Without `given` the
 * gateway itself continues the round.
 */
export function withRefusals(
  given: InputResponses | undefined,
  refused: Readonly<Record<string, QuestionKind>>,
  state: RoundState | undefined,
): InputResponses {
  const kinds = Object.entries(refused);
  const responses = kinds.flatMap(([key, kind]) => {
    const instead = FALLBACK_RESULTS[kind];
    return instead === undefined ? [] : [[key, instead] as const];
  });
  const errors = kinds.map(([key, kind]) => [key, questionRefusal(kind)] as const);
  const refusals = { ...given?.refusals, ...Object.fromEntries(errors) };
  const round = given === undefined ? OWN_ROUND : given.round;
  return {
    responses: { ...given?.responses, ...Object.fromEntries(responses) },
    ...(Object.keys(refusals).length > 0 && { refusals }),
    ...(state !== undefined && { state }),
    ...(round !== undefined && { round }),
  };
}

const FALLBACK_RESULTS: Readonly<Partial<Record<QuestionKind, JsonObject>>> = {
  elicitation: { action: "decline" },
  roots: { roots: [] },
};

/** `-1` is what clients answer when their user rejects a request (2025-11-25: client/sampling, "Error Handling"). */
const questionRefusal = (kind: QuestionKind): RpcError => ({
  code: -1,
  message: `the gateway's policy does not let this server use ${kind}`,
});

/** The refusal of a question to a session, with the words for the server. */
export function refusedQuestion(server: string, question: JsonObject): GatewayError {
  const refusal = questionRefusal(questionKind(question) ?? "elicitation");
  return new GatewayError("denied", "gateway", refusal.message, { server, rpc: codeOf(refusal) });
}

/** The refused questions of one call that are noted. */
const MAX_NOTED = 32;

/** Notes for the audit log that a question was refused, by the rule or limit. */
export function noteRefused({ record }: Call, request: JsonObject, rule: string | undefined): void {
  if (record === undefined) return;
  record.refusedQuestions ??= [];
  if (record.refusedQuestions.length >= MAX_NOTED) return;
  record.refusedQuestions.push({ method: stringAt(request, "method") ?? "", rule });
}

/** Not reached: each era validates the questions of its servers. */
const unknownQuestion = ({ upstream }: Route): GatewayError =>
  new GatewayError("denied", "upstream", `"${upstream}" asks for something that no rule can match`, {
    server: upstream,
  });
