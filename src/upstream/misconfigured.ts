/** The upstream of a server whose entry in the config is wrong: it is never started, and refuses all calls with the reason. */
import { GatewayError } from "../core/errors.js";
import { SHARED_SCOPE } from "../core/upstream.js";
import type { StartableUpstream } from "./upstream.js";

const nothing = (): void => {};

/** @param reason what is wrong, as the rest of a sentence about the server; it is shown to hosts */
export function misconfiguredUpstream(name: string, reason: string): StartableUpstream {
  const lastError = `server ${name} is misconfigured: ${reason}`;
  const refuse = (): Promise<never> =>
    Promise.reject(
      new GatewayError("upstream_unavailable", "gateway", lastError, { server: name, retryable: false }),
    );
  return {
    name,
    lastError,
    state: "misconfigured",
    facts: undefined,
    separatesPrincipals: false,
    hasOpenCalls: false,
    wasConnected: false,
    call: refuse,
    list: refuse,
    listScope: () => SHARED_SCOPE,
    resources: { subscribe: () => nothing },
    watch: () => nothing,
    start: nothing,
    setLifetime: nothing,
    forwardNotification: nothing,
    releaseClient: nothing,
    memory: () => undefined,
    close: async () => {},
  };
}
