/** Which lines the audit log has of persons who sign in to the gateway itself, in their hosts. */

import "../admin/needed.js";
import { describe, expect, onTestFinished, test } from "vitest";
import { listening } from "../../support/gateway.js";
import { freePort } from "../../support/told-port.js";
import {
  authorizeUrl,
  Browser,
  codeOf,
  hostId,
  postForm,
  realCompany,
  signInOf,
  tokenRequest,
  tokensOf,
} from "../authorization-server/support.js";
import { auditedGatewayOf } from "./audited-gateway.js";

async function world() {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const company = await realCompany(`${url}/oauth/authorize/callback`);
  const { gateway, lines } = await auditedGatewayOf({
    listen: { http: { port }, admin: { port: 0 } },
    auth: {
      signIn: { issuer: company.issuer, clientId: "cardea", clientSecret: signInOf("").clientSecret },
    },
    mcpServers: {},
  });
  const { adminUrl } = await listening(gateway);
  onTestFinished(() => gateway.stop({ immediate: true }));
  const counted = async () => {
    const text = await (await fetch(`${adminUrl}/metrics`)).text();
    return /^cardea_sign_ins_total\{server="none",outcome="refused"\} (\d+)/m.exec(text)?.[1];
  };
  return { host: { url, resource: `${url}/mcp` }, signIns: () => lines("sign_in"), counted };
}

const finished = { principal: "alice", host: "Test host", outcome: "finished" };

describe("a sign-in in a host", () => {
  test("is a line with person and host; a refresh is none, and its sign-out is another", async () => {
    const { host, signIns } = await world();
    const { refresh_token, client_id } = await tokensOf(host);
    const form = { grant_type: "refresh_token", refresh_token, client_id };
    const { body } = await tokenRequest(host, form);
    expect(signIns()).toEqual([finished]);
    const newest = { token: String(body.refresh_token), client_id };
    await postForm(`${host.url}/oauth/revoke`, newest);
    await postForm(`${host.url}/oauth/revoke`, newest);
    expect(signIns()).toEqual([finished, { ...finished, outcome: "signed_out" }]);
  }, 60_000);

  test("that is denied at the page, where no person is known, is counted and has no line", async () => {
    const { host, signIns, counted } = await world();
    const browser = new Browser();
    const page = await browser.open(authorizeUrl(host, { client_id: await hostId(host) }));
    for (let time = 0; time < 25; time++) await browser.decide(page, "deny");
    expect(signIns()).toEqual([]);
    expect(await counted()).toBe("25");
    await tokensOf(host);
    expect(signIns()).toEqual([finished]);
  }, 60_000);

  test("ends with a line if a refresh token is reused", async () => {
    const { host, signIns } = await world();
    const { refresh_token, client_id } = await tokensOf(host);
    const form = { grant_type: "refresh_token", refresh_token, client_id };
    await tokenRequest(host, form);
    await tokenRequest(host, form);
    expect(signIns()).toEqual([finished, { ...finished, outcome: "reused" }]);
  }, 60_000);

  test("has a line for a code redeemed by another host, and none for an unknown code", async () => {
    const { host, signIns } = await world();
    const form = await codeOf(host);
    await tokenRequest(host, { ...form, client_id: await hostId(host, { client_name: "Another" }) });
    await tokenRequest(host, { ...form, code: "made up" });
    expect(signIns()).toEqual([
      finished,
      { ...finished, outcome: "refused", arguments: { error: "invalid_grant" } },
    ]);
  }, 60_000);
});
