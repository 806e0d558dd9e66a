/** The results of a person who signs out are gone, for the next sign-in of the same person, too. */
import { expect, onTestFinished, test } from "vitest";
import { gatewayOf, listening } from "../../support/gateway.js";
import { Host } from "../../support/host/host.mjs";
import type { Json } from "../../support/peers/host.js";
import { recordingServer } from "../../support/servers/recording-server.js";
import { freePort } from "../../support/told-port.js";
import { postForm, realCompany, signInOf, tokensOf } from "../authorization-server/support.js";
import { idOf, LARGE, textOf } from "./support.js";

async function world() {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const company = await realCompany(`${url}/oauth/authorize/callback`);
  const server = await recordingServer("big", "modern", LARGE, () => {}, LARGE.answer);
  const { clientSecret } = signInOf("");
  const gateway = await gatewayOf({
    listen: { http: { port }, admin: { port: 0 } },
    auth: { signIn: { issuer: company.issuer, clientId: "cardea", clientSecret } },
    mcpServers: { big: { type: "http", url: server.url } },
    results: { maxTokens: 500 },
  });
  await listening(gateway);
  onTestFinished(async () => {
    await gateway.stop({ immediate: true });
    await server.close();
  });
  return { url, resource: `${url}/mcp` };
}

test("an id after the sign-out is the id of nothing", async () => {
  const host = await world();
  const signedIn = async () => {
    const { access_token, refresh_token, client_id } = await tokensOf(host);
    const headers = { authorization: `Bearer ${String(access_token)}` };
    const client = new Host(host.resource, "modern", { headers });
    const call = async (name: string, args: Json = {}): Promise<Json> =>
      (await client.send(name, "tools/call", { name, arguments: args })).result as Json;
    return { call, signOut: () => postForm(`${host.url}/oauth/revoke`, { token: refresh_token, client_id }) };
  };
  const first = await signedIn();
  const id = idOf(await first.call("big__prose"));
  const again = await signedIn();
  expect(textOf(await again.call("read_result", { id, limit: 1 }))).toBe("line 0: the quick brown fox");
  await first.signOut();
  expect(await again.call("read_result", { id })).toMatchObject({
    _meta: { "cardea/refusal": { code: "result_gone" } },
  });
}, 60_000);
