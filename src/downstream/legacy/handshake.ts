/** How does `initialize` open a session: what does the host declare, and what does the gateway answer? */
import { checkLogLevel, checkParams, dropNullMembers, invalidParams } from "../../core/check-params.js";
import { Adoption, type Client, MAX_CAPABILITIES_LENGTH, MAX_INFO_LENGTH } from "../../core/client.js";
import { GatewayError } from "../../core/errors.js";
import type { MemoryBudget } from "../../core/fair-share.js";
import type { GatewayApi, ServerDescription } from "../../core/gateway-api.js";
import { LIST_KINDS, LISTS, type ListKind } from "../../core/lists.js";
import { TASKS_EXTENSION } from "../../core/methods.js";
import type { AdoptedSession } from "../../core/replicas.js";
import { isEmpty, isObject, type JsonObject, objectAt, stringAt, without } from "../../wire/json.js";
import { approximateJsonLength } from "../../wire/json-text.js";
import { OWN_META } from "../../wire/names.js";
import type { HttpExchange, Pipe } from "../edge.js";
import { noticeText } from "./messages.js";
import type { QuestionLimits } from "./questions.js";
import { negotiate, type Revision } from "./revision.js";
import { Session, type SessionParts } from "./session.js";
import type { SessionStore } from "./session-store.js";

/** The parameters of `initialize`, checked and reduced to the revision. */
interface InitializeParams {
  readonly revision: Revision;
  /** Only what the revision knows, and the modes of elicitation that the host names. */
  readonly capabilities: JsonObject;
  readonly info?: JsonObject;
}

/** @throws GatewayError when the parameters of `initialize` cannot be read */
function readInitializeParams(params: JsonObject | undefined): InitializeParams {
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

function initializeResult(revision: Revision, introduction: ServerDescription): JsonObject {
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
function advertisedLists(capabilities: JsonObject): ReadonlySet<ListKind> {
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

/** Before there were modes, whatever it held stood for forms; some hosts of that time name modes anyway. */
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

function clientOf(
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

const invalid = (what: string) => invalidParams(`initialize: ${what}`);

/** What opening a session needs. */
export interface SessionOpener {
  readonly gateway: GatewayApi;
  readonly store: SessionStore;
  readonly questions: QuestionLimits;
  /** What is kept for sessions between their calls. */
  readonly memoryBudget: MemoryBudget;
}

interface OpenedSession {
  readonly session: Session;
  readonly result: JsonObject;
}

/**
 * Opens a session that another process served, under its id: the host continues as if nothing had happened. It is notified once that
 * all lists may have changed. `restored` resolves when its subscriptions are accepted or refused again, and never rejects.
 *
 * @throws GatewayError when no more sessions can be opened
 */
export async function openAdoptedSession(
  opener: SessionOpener,
  adopted: AdoptedSession,
  sender: Pick<HttpExchange, "principal" | "endpoint">,
  transportOf: (revision: Revision) => Pick<SessionParts, "id" | "sink" | "streams">,
): Promise<{ readonly session: Session; readonly restored: Promise<unknown> }> {
  const revision = negotiate(adopted.revision);
  const transport = transportOf(revision);
  const session = new Session({
    ...transport,
    client: {
      ...clientOf({ ...adopted, revision }, transport.id, sender),
      adoption: new Adoption(adopted.from),
    },
    revision,
    changes: opener.gateway.changes,
    questions: opener.questions,
    memoryShare: opener.memoryBudget.shareOf(sender.principal),
  });
  if (adopted.logLevel !== undefined) session.logLevel = checkLogLevel(adopted.logLevel, '"logLevel"');
  opener.store.add(session);
  try {
    const { capabilities } = await opener.gateway.describe(session.client);
    const lists = advertisedLists(capabilities);
    session.advertise(lists);
    session.initialized();
    for (const kind of lists) session.sink.send(noticeText(LISTS[kind].changed));
    // A server that refuses, or is not there, is one that the host has to ask again; no request waits for it.
    const restored = Promise.allSettled(
      adopted.subscriptions.map((uri) => session.subscriptions.subscribeResource(uri)),
    );
    return { session, restored };
  } catch (error) {
    opener.store.end(session, "closed");
    throw error;
  }
}

/**
 * @param ways the session's id, and where its messages go
 * @throws GatewayError when the parameters cannot be read, no more sessions can be opened, or the one server that the
 * gateway stands in for could not be met
 */
export async function openSession(
  opener: SessionOpener,
  params: JsonObject | undefined,
  sender: Pick<HttpExchange | Pipe, "principal" | "endpoint"> & Pick<Pipe, "isSpawnedByHost">,
  transportOf: (revision: Revision) => Pick<SessionParts, "id" | "sink" | "streams">,
): Promise<OpenedSession> {
  dropNullMembers("initialize", params);
  checkParams("initialize", params);
  const initializeParams = readInitializeParams(params);
  const transport = transportOf(initializeParams.revision);
  const client = clientOf(initializeParams, transport.id, sender);
  const session = new Session({
    ...transport,
    client,
    revision: initializeParams.revision,
    changes: opener.gateway.changes,
    questions: opener.questions,
    memoryShare: opener.memoryBudget.shareOf(sender.principal),
  });
  // The session is registered before the first server sees it: a server that is connected for this client may request its
  // roots at once. No host knows the id yet.
  opener.store.add(session);
  try {
    if (sender.isSpawnedByHost === true) await opener.gateway.requireServer?.(client);
    const introduction = await opener.gateway.describe(client);
    if (session.hasEnded) {
      throw new GatewayError("cancelled", "gateway", "the session ended before it was open");
    }
    const result = initializeResult(initializeParams.revision, introduction);
    session.advertise(advertisedLists(introduction.capabilities));
    return { session, result };
  } catch (error) {
    opener.store.end(session, "closed");
    throw error;
  }
}
