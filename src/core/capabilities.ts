/** Which capability must a client declare before a server may ask it something? */
import { isEmpty, type JsonObject, objectAt } from "../wire/json.js";
import type { QuestionKind } from "./methods.js";

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
