/** Calls of tools without a gateway, their routes and clients, and what became of them. */
import type { Call, Reply, Route } from "../../src/core/call.js";
import type { Client } from "../../src/core/client.js";
import type { JsonObject } from "../../src/wire/json.js";
import { Payload } from "../../src/wire/payload.js";
import { fakeCall } from "./fake-call.js";

/** A call of a tool, by the server's key and its own name. */
export function toolCall(
  server: string,
  tool: string,
  args: JsonObject = {},
  over: Partial<Call> = {},
): Call {
  const exposed = `${server}__${tool}`;
  return fakeCall({
    params: { name: exposed, arguments: args },
    route: routeTo(server, tool),
    ...over,
  });
}

/** The call as its host makes it again, with answers to the questions of `reply`. */
export const answered = (call: Call, reply: Reply, responses: JsonObject = {}): Call => ({
  ...call,
  inputResponses: {
    responses,
    ...(reply.kind === "input_required" &&
      reply.sealedState !== undefined && { sealedState: reply.sealedState }),
  },
});

/** The same route object for the same tool, as a list gives it. */
export function routeTo(server: string, tool: string): Route {
  const exposed = `${server}__${tool}`;
  const known = routes.get(exposed) ?? {
    upstream: server,
    target: tool,
    exposed,
    kind: "tools",
    item: { name: tool },
  };
  routes.set(exposed, known);
  return known;
}
const routes = new Map<string, Route>();

export const clientOf = (over: Partial<Client> = {}): Client => ({
  principal: { id: "ann", groups: [], claims: {} },
  affinity: "ann",
  session: false,
  endpoint: "",
  capabilities: {},
  ...over,
});

/** What became of a call, in one word: the refusal, or the kind of the reply. */
export const wordOf = (reply: Reply): string =>
  reply.kind === "input_required" ? reply.kind : (reply.refusal ?? reply.kind);

export const result = (object: JsonObject): Reply => ({ kind: "result", result: Payload.ofObject(object) });
