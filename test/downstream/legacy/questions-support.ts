/** Questions of servers to legacy hosts, and hosts that are asked them. */
import type { Call, Reply } from "../../../src/core/call.js";
import type { FakeHandler } from "../../support/fake-port.js";
import { Events, edgeServer } from "./support.js";

export const CAN_ALL = { elicitation: { form: {}, url: {} }, sampling: { tools: {} }, roots: {} };
export const form = (message: string) => ({
  method: "elicitation/create",
  params: {
    mode: "form",
    message,
    requestedSchema: { type: "object", properties: { a: { type: "string" } } },
  },
});
export const SAMPLING = {
  method: "sampling/createMessage",
  params: { messages: [{ role: "user", content: { type: "text", text: "?" } }], maxTokens: 10 },
};
export const ROOTS = { method: "roots/list" };

export const callTool = (id: string | number = 1, params = {}) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name: "t", arguments: { x: 1 }, ...params },
});

export const asks = (requests: object, state?: string): Reply => ({
  kind: "input_required",
  requests: { ...requests },
  ...(state !== undefined && { sealedState: state }),
});

/** Replies in this order, one for each round. */
export function rounds(...replies: (Reply | ((call: Call) => Reply))[]): { "tools/call": FakeHandler } {
  let round = 0;
  return {
    "tools/call": (call) => {
      const reply = replies[Math.min(round, replies.length - 1)];
      round += 1;
      if (reply === undefined) throw new Error("there are no replies");
      return typeof reply === "function" ? reply(call) : reply;
    },
  };
}

/** The stream of a tool call of a host that can be asked everything; the gateway replies with these, one for each round. */
export async function askedHost(
  { id, version }: { id?: number; version?: string },
  ...replies: Parameters<typeof rounds>
) {
  const server = await edgeServer({ handlers: rounds(...replies) });
  const host = await server.host({ capabilities: CAN_ALL, ...(version !== undefined && { version }) });
  return { server, host, events: new Events(await host.open(callTool(id))) };
}
