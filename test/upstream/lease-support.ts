/** Sessions that call a server, and the connection each call comes on. */
import type { Client } from "../../src/core/client.js";
import type { StartableUpstream } from "../../src/upstream/upstream.js";
import { type FakeServer, legacyServer } from "../support/fake-channel.js";
import { calling, client } from "../support/met-upstream.js";

export const SAMPLING = { sampling: {} };
export const session = (changes: Partial<Client> = {}): Client =>
  client({ session: true, capabilities: SAMPLING, ...changes });

/** The capabilities of each handshake, in order; the first is that of the shared connection. */
export const advertised = (server: FakeServer) =>
  server.sent("initialize").map(({ message }) => message.params?.capabilities);

/** A legacy server whose tool answers with the number of its connection. */
export const echoing = () =>
  legacyServer().on("tools/call", (_params, asked) => ({ channel: asked.channel.number }));

/** A member of the result of a call by this client. */
export async function memberOf(upstream: StartableUpstream, of: Client, member: string): Promise<unknown> {
  const reply = await upstream.call(calling({ client: of }).call);
  return reply.kind === "result" ? reply.result.object[member] : reply;
}
export const channelOf = (upstream: StartableUpstream, of: Client) => memberOf(upstream, of, "channel");
