/** Whether a client has said that it can answer what it is about to be asked (2026-07-28: basic/index, "_meta"). */
import { questionKind } from "../../core/methods.js";
import { missingCapability } from "../../core/missing-capability.js";
import type { RpcError } from "../../wire/envelope.js";
import { isEmpty, isObject, type JsonObject, objectAt } from "../../wire/json.js";
import { CODE } from "../../wire/names.js";

/** The error in place of questions that this client cannot answer, or nobody; undefined where it can answer all. */
export function capabilityError(requests: JsonObject, capabilities: JsonObject): RpcError | undefined {
  const required: Record<string, JsonObject> = {};
  for (const request of Object.values(requests)) {
    const kind = isObject(request) ? questionKind(request) : undefined;
    if (kind === undefined || !isObject(request)) return UNKNOWN_QUESTION;
    const missing = missingCapability(kind, objectAt(request, "params"), capabilities);
    if (missing !== undefined) required[kind] = { ...required[kind], ...missing };
  }
  if (isEmpty(required)) return undefined;
  return {
    code: CODE.missingClientCapability,
    message: `this needs a client that declares ${Object.entries(required).map(describeCapability).join(" and ")}`,
    data: { requiredCapabilities: required },
  };
}

const UNKNOWN_QUESTION: RpcError = {
  code: CODE.internalError,
  message: "the server asked for something that this revision does not know",
};

const describeCapability = ([kind, members]: readonly [string, JsonObject]): string =>
  [kind, ...Object.keys(members)].join(".");
