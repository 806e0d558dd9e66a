/** Signing in to servers behind a load balancer without stickiness: replicas share the sign-ins in a real Redis. */
import "../admin/needed.js";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { SILENT } from "../../../src/core/logger.js";
import { untilUp } from "../../../src/core/shared-store.js";
import { openStore } from "../../../src/features/cluster/store.js";
import { openedFeatures } from "../../support/features.js";
import { hasRedis, PATIENT, type Redis, startRedis } from "../../support/redis.js";
import { roundRobin } from "../../support/round-robin.js";
import { sample } from "../../support/sample.js";
import { Browser } from "../../support/sign-in/browser.js";
import { type RealIssuer, startRealIssuer } from "../../support/sign-in/real-issuer.mjs";
import { host1, host2, signedIn } from "../authorization-server/sdk-hosts.js";
import { realCompany, signInOf } from "../authorization-server/support.js";
import { stateFolder } from "../vault/credentials.js";
import { type Replica, startReplica } from "./replicas.js";

interface Result {
  readonly isError?: boolean;
  readonly content: readonly { readonly text?: string }[];
  readonly _meta?: { readonly "cardea/sign-in"?: { readonly url: string } };
}

async function hostAt(url: string) {
  const client = new Client({ name: "host", version: "1" }, { versionNegotiation: { mode: "auto" } });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  onTestFinished(() => client.close());
  return {
    tools: async () => (await client.listTools()).tools.map(({ name }) => name).sort(),
    call: async () => (await client.callTool({ name: "notes__whoami", arguments: {} })) as Result,
  };
}

const OPERATOR = "the-token-of-an-operator";
const TOOLS = ["notes__admin_only", "notes__whoami"];
const textOf = ({ content }: Result): string => content[0]?.text ?? "";

describe.runIf(hasRedis)("replicas behind a round-robin load balancer", () => {
  let redis: Redis;
  let issuer: RealIssuer;
  beforeAll(async () => {
    [redis, issuer] = await Promise.all([startRedis(), startRealIssuer()]);
  });
  afterAll(() => Promise.all([redis.stop(), issuer.close()]));

  let clusters = 0;
  /** `configFor` gets the URL of the load balancer. */
  async function cluster(configFor: (origin: string) => object | Promise<object> = () => ({})) {
    clusters += 1;
    const replicas: Replica[] = [];
    const balancer = await roundRobin(() => replicas.map((each) => each.url));
    onTestFinished(() => balancer.close());
    const { origin } = new URL(balancer.url);
    const more = await configFor(origin);
    for (let at = 0; at < 2; at += 1) {
      const store = await openStore({
        config: { url: redis.url, prefix: `sign-ins-${clusters}` },
        logger: SILENT,
        ...PATIENT,
      });
      expect(await untilUp(store, 60_000)).toBe(true);
      const config = {
        listen: { http: { port: 0, publicUrl: origin }, admin: { port: 0, token: OPERATOR } },
        credentials: { key: Buffer.alloc(32, 7).toString("base64") },
        mcpServers: { notes: { url: issuer.mcpUrl } },
        ...more,
      };
      const features = await openedFeatures({ features: {} }, { stateFolder: stateFolder() });
      const replica = await startReplica(store, config, {}, { features });
      replicas.push(replica);
      onTestFinished(async () => {
        await replica.gateway.stop({ immediate: true });
        await store.close();
      });
    }
    return { url: balancer.url, replicas };
  }

  test("a person signs in once, through pages of any replica, and each replica lists and calls for that person", async () => {
    const { url, replicas } = await cluster();
    const host = await hostAt(url);
    const refused = await host.call();
    const page = refused._meta?.["cardea/sign-in"]?.url ?? "";
    expect((await new Browser().signIn(page, "ann")).text).toContain("Signed in to notes");
    for (const replica of replicas) {
      const own = await hostAt(replica.url);
      expect(textOf(await own.call())).toContain("ann");
      await expect.poll(() => own.tools()).toEqual(TOOLS);
    }
  });

  test("an expired token is refreshed once for all replicas, with its single-use refresh token", async () => {
    const { url, replicas } = await cluster();
    const refused = await (await hostAt(url)).call();
    await new Browser().signIn(refused._meta?.["cardea/sign-in"]?.url ?? "", "ann");
    const hosts = await Promise.all(replicas.map(({ url: own }) => hostAt(own)));
    for (const host of hosts) await expect.poll(() => host.tools()).toEqual(TOOLS);
    for (let round = 0; round < 3; round += 1) {
      // Streams are opened again in the background. A token that expires before its first use would count as one that the server refuses.
      await expect.poll(() => issuer.hasRefused()).toBe(false);
      issuer.expireAccessTokens();
      const results = await Promise.all(Array.from({ length: 20 }, (_, at) => hosts[at % 2]?.call()));
      expect(new Set(results.map((each) => each && textOf(each)))).toEqual(
        new Set([expect.stringContaining("ann")]),
      );
    }
  });

  test("a sign-out at one replica signs out at each", async () => {
    const { url, replicas } = await cluster();
    const refused = await (await hostAt(url)).call();
    await new Browser().signIn(refused._meta?.["cardea/sign-in"]?.url ?? "", "ann");
    const [one, two] = replicas as [Replica, Replica];
    const host = await hostAt(two.url);
    expect(textOf(await host.call())).toContain("ann");
    const path = "/api/v1/logins/notes/anonymous/sign-out";
    const headers = { authorization: `Bearer ${OPERATOR}`, "content-type": "application/json" };
    const signedOut = await fetch(new URL(path, one.admin), { method: "POST", headers, body: "{}" });
    expect(signedOut.status).toBe(200);
    await expect.poll(async () => (await host.call()).isError).toBe(true);
  });

  const hosts = [
    ["SDK 1.32", host1],
    ["SDK 2.4, modern", host2("auto")],
  ] as const;
  test.each(sample("hosts that sign in at replicas", hosts, 1))(
    "a host (%s) that signs its person in at the gateway is accepted by each replica",
    async (_, make) => {
      const { url, replicas } = await cluster(async (origin) => {
        const company = await realCompany(`${origin}/oauth/authorize/callback`);
        const { clientSecret } = signInOf("");
        return {
          auth: { signIn: { issuer: company.issuer, clientId: "cardea", clientSecret } },
          mcpServers: {},
        };
      });
      const { state } = await signedIn(make, new URL(url), "alice");
      const { access_token } = state.tokens() as unknown as { access_token: string };
      for (const replica of replicas) {
        const ask = (token: string) =>
          fetch(replica.url, { method: "POST", headers: { authorization: `Bearer ${token}` }, body: "{}" });
        expect([(await ask(access_token)).status, (await ask("another")).status]).toEqual([415, 401]);
      }
      const { refresh_token } = state.tokens() as unknown as { refresh_token: string };
      state.saveTokens({ access_token: "expired", token_type: "Bearer", refresh_token });
      state.opened = undefined;
      const host = make(new URL(url), state);
      await host.connect();
      expect(await host.names()).toEqual([]);
      expect(state.opened).toBeUndefined();
    },
  );
});
