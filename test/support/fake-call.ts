/** A call, and handlers that answer it, for tests of one layer. */
import type { Call, Reply } from "../../src/core/call.js";
import { ANONYMOUS } from "../../src/core/client.js";
import { Payload } from "../../src/wire/payload.js";

let lastId = 0;

/** A `tools/call` of `files__read`, routed to `files`, unless `changes` say otherwise. */
export function fakeCall(changes: Partial<Call> = {}): Call {
  lastId += 1;
  return {
    id: lastId,
    method: "tools/call",
    params: { name: "files__read", arguments: {} },
    client: { principal: ANONYMOUS, affinity: "a", session: false, endpoint: "", capabilities: {} },
    route: { upstream: "files", target: "read", exposed: "files__read", kind: "tools" },
    signal: new AbortController().signal,
    notify: () => undefined,
    ...changes,
  };
}

/** A call of a target without an owner. */
export function unroutedCall(method: string, params: Call["params"] = {}): Call {
  const { route: _, ...call } = fakeCall({ method, params });
  return call;
}

export const textResult = (text: string, more: Record<string, unknown> = {}): Reply => ({
  kind: "result",
  result: Payload.ofObject({ content: [{ type: "text", text }], ...more }),
});

/** A result as received: text that is not parsed yet. */
export const rawResult = (json: string): Reply => ({ kind: "result", result: Payload.ofText(json) });
