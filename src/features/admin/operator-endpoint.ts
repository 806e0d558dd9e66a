/** The MCP endpoint of the console: requests of the operator take the way of every request of a host. */

import type { Principal } from "../../core/client.js";
import { badRequest } from "../../core/errors.js";
import type { GatewayApi } from "../../core/gateway-api.js";
import type { Logger } from "../../core/logger.js";
import { principalOf } from "../../core/principal.js";
import type { HttpEdge } from "../../downstream/edge.js";
import { httpFailure, sendFailure } from "../../downstream/http-errors.js";
import { FailedMessage, mcpEndpoint } from "../../downstream/mcp-endpoint.js";
import type { BodyBudget } from "../../downstream/read-body.js";
import { personOf } from "./caller.js";
import type { PassOn } from "./feature-actions.js";

/** The principal of calls from the console by a token of the listener. Rules, limits and the audit log know it by this id. */
const OPERATOR: Principal = principalOf("gateway", "operator");
const MAX_BODY_BYTES = 4 * 1024 * 1024;

/** What the endpoint serves. */
export interface OperatorEndpointSettings {
  readonly gateway: Pick<GatewayApi, "hasEndpoint">;
  readonly modern: HttpEdge;
  readonly bodyBudget: BodyBudget;
  readonly logger: Logger;
}

/** Makes the endpoint, for requests that were authorized already. It serves the revision without sessions alone: the console is its only client. */
export function operatorEndpoint({ logger, ...settings }: OperatorEndpointSettings): PassOn {
  const legacy: HttpEdge = {
    post() {
      throw badRequest("this endpoint serves revision 2026-07-28 alone; other hosts use the main listener");
    },
    async close() {},
  };
  const serve = mcpEndpoint({ ...settings, legacy, maxBodyBytes: MAX_BODY_BYTES, allow: "POST" });
  return async (request, response, caller) => {
    try {
      // A token of an authorization server is never asked for here, so there is nothing to challenge with.
      const challenge = (): string => 'Bearer realm="cardea admin"';
      const principal = personOf(caller) ?? OPERATOR;
      await serve({ request, response, principal, endpoint: "", challenge });
    } catch (error) {
      const { cause, id } = error instanceof FailedMessage ? error : { cause: error, id: undefined };
      const failure = httpFailure(cause);
      if (failure.status === 500) logger.error({ error: cause }, "a request of the console failed");
      sendFailure(response, failure, id);
    }
  };
}
