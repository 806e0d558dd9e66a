/** The `initialize` handshake: what the host declares, and what the gateway answers. */
import { type Client, MAX_CAPABILITIES_LENGTH, MAX_INFO_LENGTH } from "../../core/client.js";
import { GatewayError } from "../../core/errors.js";
import type { ServerDescription } from "../../core/gateway-api.js";
import { LIST_KINDS, LISTS, type ListKind } from "../../core/lists.js";
import { TASKS_EXTENSION } from "../../core/methods.js";
import { isEmpty, isObject, type JsonObject, objectAt, stringAt, without } from "../../wire/json.js";
import { approximateJsonLength } from "../../wire/json-text.js";
import { CODE, OWN_META } from "../../wire/names.js";
import { negotiate, type Revision } from "./revision.js";

/** The parameters of `initialize`, checked and reduced to the revision. */
export interface InitializeParams {
  readonly revision: Revision;
  /** Only what the revision knows, and the modes of elicitation that the host names. */
  readonly capabilities: JsonObject;
  readonly info?: JsonObject;
}

/** @throws GatewayError when the parameters of `initialize` cannot be read */
export function readInitializeParams(params: JsonObject | undefined): InitializeParams {
  const requested = stringAt(params, "protocolVersion");
  if (requested === undefined) throw invalid('"protocolVersion" must be a string');
  const declared = params?.capabilities ?? {};
  if (!isObject(declared)) throw invalid('"capabilities" must be an object');
  const revision = negotiate(requested);
  const info = objectAt(params, "clientInfo");
  if (approximateJsonLength(declared) > MAX_CAPABILITIES_LENGTH)
    throw tooLong("capabilities", MAX_CAPABILITIES_LENGTH);
  if (info !== undefined && approximateJsonLength(info) > MAX_INFO_LENGTH)
    throw tooLong("clientInfo", MAX_INFO_LENGTH);
  return {
    revision,
    capabilities: clientCapabilities(declared, revision),
    ...(info !== undefined && { info }),
  };
}

/** The result of `initialize`. */
export function initializeResult(revision: Revision, introduction: ServerDescription): JsonObject {
  const { serverInfo, instructions, instance } = introduction;
  return {
    protocolVersion: revision.name,
    capabilities: serverCapabilities(introduction.capabilities, revision),
    serverInfo,
    ...(instructions !== undefined && { instructions }),
    ...(instance !== undefined && { _meta: { [OWN_META.instance]: instance } }),
  };
}

/** The lists whose changes these server capabilities promise to tell of. */
export function advertisedLists(capabilities: JsonObject): ReadonlySet<ListKind> {
  return new Set(
    LIST_KINDS.filter((kind) => objectAt(capabilities, LISTS[kind].capability)?.listChanged === true),
  );
}

function clientCapabilities(declared: JsonObject, revision: Revision): JsonObject {
  let known = withoutTasks(declared, revision);
  if (!revision.elicitation) known = without(known, ["elicitation"]);
  else if (!revision.elicitationModes) known = withModes(known);
  const sampling = objectAt(known, "sampling");
  if (sampling === undefined || revision.samplingTools) return known;
  return { ...known, sampling: without(sampling, ["tools", "context"]) };
}

/** Before there were modes, whatever it held stood for forms; some hosts of that time name modes all the same. */
function withModes(known: JsonObject): JsonObject {
  const elicitation = objectAt(known, "elicitation");
  if (elicitation === undefined || isEmpty(elicitation)) return known;
  const names = Object.hasOwn(elicitation, "form") || Object.hasOwn(elicitation, "url");
  return names ? known : { ...known, elicitation: { ...elicitation, form: {} } };
}

function serverCapabilities(merged: JsonObject, revision: Revision): JsonObject {
  const known = withoutTasks(merged, revision);
  return revision.completions ? known : without(known, ["completions"]);
}

/** 2025-11-25 has tasks in another form than the extension, which must not be enabled under it (SEP-2663). */
function withoutTasks(capabilities: JsonObject, revision: Revision): JsonObject {
  const known = revision.tasks ? capabilities : without(capabilities, ["tasks"]);
  const extensions = objectAt(known, "extensions");
  if (extensions === undefined) return known;
  const kept = without(extensions, [TASKS_EXTENSION]);
  return Object.keys(kept).length > 0 ? { ...known, extensions: kept } : without(known, ["extensions"]);
}

/** The client of a session that is named `id`. */
export function clientOf(
  params: InitializeParams,
  id: string,
  sender: Pick<Client, "principal" | "endpoint">,
): Client {
  return {
    principal: sender.principal,
    endpoint: sender.endpoint,
    affinity: id,
    session: true,
    capabilities: params.capabilities,
    ...(params.info !== undefined && { info: params.info }),
  };
}

const tooLong = (key: string, longest: number) =>
  invalid(`"${key}" must not be longer than ${longest} characters`);

const invalid = (what: string) =>
  new GatewayError("bad_request", "downstream", `initialize: ${what}`, { rpc: CODE.invalidParams });
