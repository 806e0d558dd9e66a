/** Reads a request of a legacy session into a call. */

import type { Call, Notice } from "../../core/call.js";
import { PROGRESS_METHOD, ProgressFilter } from "../../core/progress.js";
import type { StopSignal } from "../../core/stop.js";
import { isProgressToken, type Request } from "../../wire/envelope.js";
import { type JsonObject, objectAt, without } from "../../wire/json.js";
import { META } from "../../wire/names.js";
import { isForCall } from "./notification-filter.js";
import type { Revision } from "./revision.js";
import type { Session } from "./session.js";

/** @param id that of the call; `sendNotice` receives the notifications that the client may see */
export function readCall(
  id: number,
  session: Session,
  request: Request,
  signal: StopSignal,
  sendNotice: (notice: Notice) => void,
): Call {
  const params = readParams(request.params ?? {}, session.revision);
  const token = objectAt(params, "_meta")?.[META.progressToken];
  const lasts = Object.hasOwn(params, "task");
  let progress = lasts && isProgressToken(token) ? session.taskTokens.add(token) : undefined;
  return {
    id,
    method: request.method,
    params,
    client: session.client,
    route: undefined,
    inputResponses: undefined,
    logLevel: session.logLevel,
    extraHeaders: undefined,
    signal,
    notify: (notice) => {
      if (!isForCall(notice, token, session)) return;
      if (notice.method === PROGRESS_METHOD) {
        progress ??= new ProgressFilter();
        if (!progress.isIncreasing(notice)) return;
      }
      sendNotice(notice);
    },
    onActivity: undefined,
  };
}

/** Members that have a meaning only in the modern era, and are dropped: no state is unsealed in this one. */
const MODERN_PARAMS = ["inputResponses", "requestState"];
const MODERN_META = [META.protocolVersion, META.clientCapabilities, META.clientInfo, META.logLevel];

function readParams(sent: JsonObject, { tasks }: Revision): JsonObject {
  const params = without(sent, tasks ? MODERN_PARAMS : [...MODERN_PARAMS, "task"]);
  const meta = objectAt(params, "_meta");
  if (meta === undefined) return params;
  const kept = without(meta, MODERN_META);
  return kept === meta ? params : { ...params, _meta: kept };
}
