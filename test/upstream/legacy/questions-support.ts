/** Legacy servers that ask something during a call, and calls that come back with the answers. */
import { vi } from "vitest";
import type { Call, InputResponses, Reply, RoundState } from "../../../src/core/call.js";
import type { Client } from "../../../src/core/client.js";
import type { JsonObject } from "../../../src/wire/json.js";
import { type FakeServer, HTTP, legacyServer } from "../../support/fake-channel.js";
import { type Calling, calling, client } from "../../support/met-upstream.js";

export const over = { transport: HTTP };
const CAPABLE = {
  sampling: { tools: {} },
  elicitation: { form: {}, url: {} },
  roots: { listChanged: true },
};
export const host = (changes: Partial<Client> = {}) => client({ capabilities: CAPABLE, ...changes });
export const session = (changes: Partial<Client> = {}) => host({ session: true, ...changes });
export const who = {
  message: "who?",
  requestedSchema: { type: "object", properties: { name: { type: "string", pattern: "x" } } },
};

/** Waits for the reply, and for the window in which questions are gathered. */
export async function soon<T>(promise: Promise<T>): Promise<T> {
  const outcome = promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  await vi.advanceTimersByTimeAsync(100);
  const settledOutcome = await outcome;
  if ("error" in settledOutcome) throw settledOutcome.error;
  return settledOutcome.value;
}

export function asked(reply: Reply): {
  readonly requests: JsonObject;
  readonly state: RoundState;
  readonly keys: readonly string[];
} {
  if (reply.kind !== "input_required" || reply.state === undefined)
    throw new Error(`not asked: ${JSON.stringify(reply)}`);
  return { requests: reply.requests, state: reply.state, keys: Object.keys(reply.requests) };
}

/** The next round of the same call, with these answers. */
export const answering = (
  { call }: Calling,
  inputResponses: InputResponses,
  changes: Partial<Call> = {},
): Calling =>
  calling({ method: call.method, params: call.params, client: call.client, inputResponses, ...changes });

/** A server whose tool asks one question, and returns the answer. */
export const curious = (method = "elicitation/create", params: JsonObject = who): FakeServer =>
  legacyServer().on("tools/call", async (_params, ask) => {
    const { result, error } = await ask.ask(method, params);
    return { told: result ?? error };
  });
