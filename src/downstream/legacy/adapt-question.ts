/** A server's question in the form that one host's revision knows, or the reason why that host cannot be asked. */
import { randomUUID } from "node:crypto";
import type { RpcError } from "../../wire/envelope.js";
import { isObject, type JsonObject, objectAt, stringAt, without } from "../../wire/json.js";
import { CODE } from "../../wire/names.js";
import { downgradeBlocks } from "./downgrade-content.js";
import type { Revision } from "./revision.js";

/** The parameters to send, or the error where this host cannot be asked. */
export type AdaptedQuestion =
  | { readonly kind: "ask"; readonly params: JsonObject | undefined }
  | { readonly kind: "unaskable"; readonly error: RpcError };

/** Adapts `method` with `params` to a host of `revision` that declared `capabilities`. */
export function adaptQuestion(
  method: string,
  params: JsonObject | undefined,
  revision: Revision,
  capabilities: JsonObject,
): AdaptedQuestion {
  switch (method) {
    case "elicitation/create":
      return adaptElicitation(params ?? {}, revision, objectAt(capabilities, "elicitation"));
    case "sampling/createMessage":
      return adaptSampling(params ?? {}, revision, objectAt(capabilities, "sampling"));
    case "roots/list":
      if (objectAt(capabilities, "roots") === undefined)
        return unsupported(CODE.methodNotFound, "list its roots");
      return { kind: "ask", params };
    default:
      return unsupported(CODE.methodNotFound, `answer ${method}`);
  }
}

function adaptElicitation(
  params: JsonObject,
  revision: Revision,
  declared: JsonObject | undefined,
): AdaptedQuestion {
  if (declared === undefined || !revision.elicitation) {
    return unsupported(CODE.methodNotFound, "ask a person for input");
  }
  if (params.mode === "url") {
    if (!Object.hasOwn(declared, "url")) return unsupported(CODE.invalidParams, "send a person to a URL");
    // 2026-07-28 has no such id any more, 2025-11-25 cannot do without (client/elicitation, "URL Mode").
    const elicitationId = stringAt(params, "elicitationId") ?? randomUUID();
    return { kind: "ask", params: { ...params, elicitationId } };
  }
  // An empty object declares forms only; a client that names modes without `form` has no forms.
  if (Object.keys(declared).length > 0 && !Object.hasOwn(declared, "form")) {
    return unsupported(CODE.invalidParams, "show a person a form");
  }
  return {
    kind: "ask",
    params: revision.elicitationModes ? params : downgradeEnums(without(params, ["mode"])),
  };
}

function adaptSampling(
  params: JsonObject,
  revision: Revision,
  declared: JsonObject | undefined,
): AdaptedQuestion {
  if (declared === undefined) return unsupported(CODE.methodNotFound, "ask its model");
  const wantsTools = Object.hasOwn(params, "tools") || Object.hasOwn(params, "toolChoice");
  if (wantsTools && objectAt(declared, "tools") === undefined) {
    return unsupported(CODE.invalidParams, "let its model use tools");
  }
  if (revision.audio || !Array.isArray(params.messages)) return { kind: "ask", params };
  const messages = params.messages.map((message: unknown) =>
    isObject(message) ? { ...message, content: downgradeBlocks(message.content, revision) } : message,
  );
  return { kind: "ask", params: { ...params, messages } };
}

/** Enums with titles in the form of 2025-06-18; multiple choice has no older form and stays unchanged. */
function downgradeEnums(params: JsonObject): JsonObject {
  const schema = objectAt(params, "requestedSchema");
  const properties = objectAt(schema, "properties");
  if (properties === undefined) return params;
  const older = Object.entries(properties).map(([name, property]) => [name, downgradeEnum(property)]);
  return { ...params, requestedSchema: { ...schema, properties: Object.fromEntries(older) } };
}

function downgradeEnum(property: unknown): unknown {
  if (!isObject(property) || !Array.isArray(property.oneOf)) return property;
  const choices: readonly unknown[] = property.oneOf;
  const titled = choices.filter(isObject).filter(({ const: value }) => typeof value === "string");
  if (titled.length !== choices.length) return property;
  return {
    ...without(property, ["oneOf"]),
    enum: titled.map(({ const: value }) => value),
    enumNames: titled.map(({ const: value, title }) => title ?? value),
  };
}

const unsupported = (code: number, what: string): AdaptedQuestion => ({
  kind: "unaskable",
  error: { code, message: `this client cannot ${what}` },
});
