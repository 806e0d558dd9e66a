/** What does this era know of methods, and which capabilities must a client declare for them and their replies (2026-07-28: basic/index, "_meta")? */
import type { Call } from "../../core/call.js";
import { missingCapability } from "../../core/capabilities.js";
import type { Client } from "../../core/client.js";
import { badRequest, type GatewayError } from "../../core/errors.js";
import type { GatewayApi } from "../../core/gateway-api.js";
import { methodColumn, methodsWhere, questionKind, TASKS_EXTENSION } from "../../core/methods.js";
import type { RpcError } from "../../wire/envelope.js";
import { isEmpty, isObject, type JsonObject, objectAt } from "../../wire/json.js";
import { CODE } from "../../wire/names.js";

/** Answered at this edge; the gateway behind it never sees them. */
export const EDGE_METHODS = { discover: "server/discover", listen: "subscriptions/listen" } as const;

/**
 * Methods that this revision took away while the gateway behind still knows them for the other era. Here they
 * do not exist (spec 2026-07-28: changelog; for tasks SEP-2663, "Backward Compatibility").
 */
export const REMOVED_METHODS = methodsWhere(({ revisions }) => revisions === "legacy");

/** Methods of an extension that a client must have declared before it may use them; skills need no declaration. */
export const EXTENSION_OF = methodColumn(({ extension }) =>
  extension === TASKS_EXTENSION ? extension : undefined,
);

/** Requests whose results carry caching hints. */
export const CACHEABLE_METHODS = methodsWhere(({ isCacheable }) => isCacheable === true);

/**
 * The error in place of input requests that this client, or no client, can answer; undefined where it can answer all.
 *
 * @param requests the `inputRequests` of a result, by key
 * @param capabilities those that the client declared
 */
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
  message: "the server asked for something that this revision does not support",
};

const describeCapability = ([kind, members]: readonly [string, JsonObject]): string =>
  [kind, ...Object.keys(members)].join(".");

/**
 * An extension that is not served here does not exist for any client.
 *
 * @throws GatewayError -32021 when the method belongs to an extension that is served here and that the client has
 * not declared on this very request (SEP-2663, "Protocol Errors")
 */
export async function checkExtension(
  { method, client }: Call,
  gateway: Pick<GatewayApi, "describe">,
): Promise<void> {
  const extension = EXTENSION_OF.get(method);
  if (extension === undefined || declaresExtension(client, extension)) return;
  const { capabilities } = await gateway.describe(client);
  if (objectAt(capabilities, "extensions")?.[extension] !== undefined) throw undeclaredExtension(extension);
}

/** Whether the client declared `extension` on its request. */
export const declaresExtension = ({ capabilities }: Client, extension: string): boolean =>
  objectAt(objectAt(capabilities, "extensions"), extension) !== undefined;

/** The refusal (-32021) of what only clients that declare `extension` may use. */
export const undeclaredExtension = (extension: string): GatewayError =>
  badRequest(`this needs a client that declares ${extension}`, {
    rpc: CODE.missingClientCapability,
    data: { requiredCapabilities: { extensions: { [extension]: {} } } },
  });
