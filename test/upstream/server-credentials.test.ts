/** What the credentials of a server ask of it before a first 401 counts as a wish for a sign-in. */
import { expect } from "vitest";
import { usableServers } from "../../src/config/config.js";
import { GatewayError } from "../../src/core/errors.js";
import { Stop } from "../../src/core/stop.js";
import { ServerCredentials } from "../../src/upstream/leases/server-credentials.js";
import { FakeStore } from "../support/fake-credentials.js";
import { testOf } from "../support/features.js";
import { configOf } from "../support/gateway.js";

class CountingStore extends FakeStore {
  asked = 0;
  override async offersSignIn(): Promise<boolean> {
    this.asked += 1;
    return this.offers;
  }
}

function credentialsAt(store: CountingStore) {
  const [server] = usableServers(configOf({ mcpServers: { api: { url: "https://api.example/mcp" } } }));
  if (server === undefined) throw new Error("no server");
  let needed = 0;
  const credentials = new ServerCredentials(server, {
    ...{ store, areNeeded: false, onChanged: () => {} },
    onNeeded: () => {
      needed += 1;
    },
  });
  const refuse = async (channel: ReturnType<ServerCredentials["ofChannel"]>, challenge?: string) => {
    const rejected = { status: 401, challenge, sentHeader: undefined, attempts: 1 } as const;
    const outcome = await channel?.onRejected(rejected, new Stop());
    return outcome instanceof GatewayError ? outcome.code : outcome;
  };
  return { refuse, open: () => credentials.ofChannel("alice"), needed: () => needed };
}

testOf("sign-in")(
  "a server without metadata is asked for them once for a connection, and again for the next one",
  async () => {
    const store = new CountingStore();
    store.offers = false;
    const { refuse, open, needed } = credentialsAt(store);
    const first = open();
    const codes = await Promise.all([refuse(first, "Basic"), refuse(first), refuse(first, "ApiKey")]);
    expect(codes).toEqual([undefined, undefined, undefined]);
    expect([store.asked, needed()]).toEqual([1, 0]);
    store.offers = true;
    expect(await refuse(open())).toBe("sign_in_required");
    expect([store.asked, needed()]).toEqual([2, 1]);
    expect(await refuse(first, "Basic")).toBe("sign_in_required");
  },
);

testOf("sign-in")("a server that asks for Bearer is asked for nothing else", async () => {
  const store = new CountingStore();
  const { refuse, open } = credentialsAt(store);
  expect(await refuse(open(), 'Basic realm="x", Bearer')).toBe("sign_in_required");
  expect(store.asked).toBe(0);
});
