/** What the credentials of a server ask of it before a first 401 counts as a wish for a sign-in. */
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { usableServers } from "../../src/config/config.js";
import { GatewayError } from "../../src/core/errors.js";
import { Stop } from "../../src/core/stop.js";
import { ServerCredentials } from "../../src/upstream/leases/server-credentials.js";
import { FakeStore } from "../support/fake-credentials.js";
import { hasFeature, testOf } from "../support/features.js";
import { configOf } from "../support/gateway.js";

class CountingStore extends FakeStore {
  asked = 0;
  override async offersSignIn(): Promise<boolean> {
    this.asked += 1;
    return this.offers;
  }
}

function credentialsAt(store: CountingStore, more: object = {}, areNeeded = false) {
  const entry = { url: "https://api.example/mcp", ...more };
  const [server] = usableServers(configOf({ mcpServers: { api: entry } }));
  if (server === undefined) throw new Error("no server");
  let needed = 0;
  const credentials = new ServerCredentials(server, {
    ...{ store, areNeeded, onChanged: () => {} },
    onNeeded: () => {
      needed += 1;
    },
  });
  const refuse = async (channel: ReturnType<ServerCredentials["ofChannel"]>, challenge?: string) => {
    const rejected = { status: 401, challenge, sentHeader: undefined, attempts: 1 } as const;
    const outcome = await channel?.onRejected(rejected, new Stop());
    return outcome instanceof GatewayError ? outcome.code : outcome;
  };
  return { refuse, open: (id = "alice") => credentials.ofChannel(id), needed: () => needed };
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

describe.runIf(hasFeature("sign-in"))("a server that asked for a sign-in", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["performance"] });
    onTestFinished(() => void vi.useRealTimers());
  });

  /** How the next request goes: with which header, or with which error none does. */
  const next = async (channel: ReturnType<ServerCredentials["ofChannel"]>) => {
    if (channel?.areUsed !== true) return "without";
    if (channel.header !== undefined) return channel.header;
    return channel.obtain(new Stop()).then(
      (header) => header ?? "without",
      (error: unknown) => (error as GatewayError).code,
    );
  };

  test("gets a request without credentials again after a minute, and all others as long as it answers", async () => {
    const { refuse, open } = credentialsAt(new CountingStore());
    const [channel, other] = [open(), open("bob")];
    await refuse(channel, "Bearer");
    vi.advanceTimersByTime(59_000);
    expect([await next(channel), await next(other)]).toEqual(["sign_in_required", "sign_in_required"]);
    vi.advanceTimersByTime(1_000);
    expect([await next(channel), await next(channel), await next(other)]).toEqual(Array(3).fill("without"));
    expect(channel?.areUsed).toBe(false);
    await refuse(channel, "Bearer");
    expect([await next(channel), await next(open())]).toEqual(["sign_in_required", "sign_in_required"]);
    vi.advanceTimersByTime(60_000);
    expect(await next(channel)).toBe("without");
  });

  test("gets one at the start of the next process", async () => {
    const { open } = credentialsAt(new CountingStore(), {}, true);
    expect(await next(open())).toBe("without");
  });

  test("gets the token of a principal that has one by now", async () => {
    const store = new CountingStore();
    const { open } = credentialsAt(store, {}, true);
    const channel = open();
    await next(channel);
    store.signIn("api", "alice", "t");
    expect(await next(channel)).toBe("Bearer t");
  });

  test.each([
    ["a principal has signed in there", {}, (store: FakeStore) => store.signIn("api", "bob", "t")],
    ["the principal has signed out", {}, (store: FakeStore) => store.signOut("api", "alice")],
    ["the config asks for it", { auth: {} }, () => {}],
    [
      "the sign-in of the principal has ended before the start",
      {},
      (store: FakeStore) => store.end("api", "alice"),
    ],
  ])("gets none where %s", async (_, more, before) => {
    const store = new CountingStore();
    const { refuse, open } = credentialsAt(store, more);
    const channel = open();
    await refuse(channel, "Bearer");
    before(store);
    vi.advanceTimersByTime(600_000);
    expect(await next(channel)).toBe("sign_in_required");
  });
});
