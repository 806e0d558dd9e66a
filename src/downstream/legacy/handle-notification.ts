/** What a session makes of a client's notification. */

import { paramsFault } from "../../core/check-params.js";
import type { GatewayApi } from "../../core/gateway-api.js";
import type { Notification } from "../../wire/envelope.js";
import { stringAt } from "../../wire/json.js";
import { isMessageId } from "../../wire/message-id.js";
import type { Session } from "./session.js";

export function handleNotification(
  session: Session,
  notification: Notification,
  gateway: Pick<GatewayApi, "forwardNotification">,
): void {
  const { method, params } = notification;
  // Nothing can be answered to it.
  if (paramsFault(method, params) !== undefined) return;
  switch (method) {
    case "notifications/initialized":
      session.initialized();
      return;
    case "notifications/cancelled": {
      // A malformed one is ignored (2025-11-25, basic/utilities/cancellation, "Error Handling").
      const id = params?.requestId;
      if (isMessageId(id)) session.cancel(id, stringAt(params, "reason"));
      return;
    }
    default:
      gateway.forwardNotification?.(session.client, params === undefined ? { method } : { method, params });
  }
}
