/** A refresh loses nothing, is made once for all who wait, and never leads a person to a browser without need. */
import { describe, expect, test } from "vitest";
import { Stop } from "../../../src/core/stop.js";
import { VaultError } from "../../../src/features/vault/vault-error.js";
import { HOUR_MS, rejected, SIGNAL, World } from "./world.js";

const turns = async (): Promise<void> => {
  for (let at = 0; at < 5; at += 1) await new Promise(setImmediate);
};

describe("a call", () => {
  test("gets the stored token without a request", async () => {
    const world = new World();
    world.signIn();
    const { source } = world.start();
    expect(source.header).toBeUndefined();
    expect(await source.obtain(SIGNAL)).toBe("Bearer access-2");
    expect(source.header).toBe("Bearer access-2");
    expect(world.issuer.sent).toEqual([]);
  });

  test("without a sign-in is refused with advice, and sends no request", async () => {
    const world = new World();
    const { source } = world.start();
    await expect(source.obtain(SIGNAL)).rejects.toMatchObject({
      code: "sign_in_required",
      message: expect.stringContaining("cardea login linear"),
    });
    expect(world.issuer.sent).toEqual([]);
  });

  test("uses the sign-in that another process has written since", async () => {
    const world = new World();
    const { source } = world.start();
    await expect(source.obtain(SIGNAL)).rejects.toMatchObject({ code: "sign_in_required" });
    world.signIn();
    expect(await source.obtain(SIGNAL)).toBe("Bearer access-2");
    expect(world.changes).toEqual([true]);
  });

  test("with an expired token shares one refresh with 200 others", async () => {
    const world = new World();
    world.signIn();
    const { source } = world.start();
    world.pass(HOUR_MS);
    const headers = await Promise.all(Array.from({ length: 200 }, () => source.obtain(SIGNAL)));
    expect(new Set(headers)).toEqual(new Set(["Bearer access-3"]));
    expect(world.issuer.sent).toHaveLength(1);
    expect(world.disk.get()?.tokens?.refreshToken).toBe("refresh-3");
    expect(world.outcomes).toEqual(["refreshed"]);
  });

  test("in another process uses the token that the first one has refreshed", async () => {
    const world = new World();
    world.signIn();
    const [one, two, three] = [world.start(), world.start(), world.start()];
    world.pass(HOUR_MS);
    const all = [one, two, three].map(({ source }) => source.obtain(SIGNAL));
    expect(new Set(await Promise.all(all))).toEqual(new Set(["Bearer access-3"]));
    expect(world.issuer.sent).toHaveLength(1);
  });

  test("that is cancelled ends immediately; the refresh continues and is stored", async () => {
    const world = new World();
    world.signIn();
    const { source } = world.start();
    world.pass(HOUR_MS);
    let answer = (): void => {};
    world.issuer.meanwhile = () =>
      new Promise((resolve) => {
        answer = resolve;
      });
    const stop = new Stop();
    const call = source.obtain(stop);
    await turns();
    stop.abort();
    await expect(call).rejects.toMatchObject({ code: "cancelled" });
    answer();
    await turns();
    expect(world.disk.get()?.tokens?.refreshToken).toBe("refresh-3");
    expect(source.header).toBe("Bearer access-3");
  });
});

describe("the steps of a refresh:", () => {
  test("the intent is on disk before the request, and deleted after it", async () => {
    const world = new World();
    world.signIn();
    const { source } = world.start();
    world.pass(HOUR_MS);
    const intents: unknown[] = [];
    world.issuer.meanwhile = async () => void intents.push(world.disk.get()?.refreshBegunAt);
    await source.obtain(SIGNAL);
    expect(intents).toEqual([world.now]);
    expect(world.disk.get()?.refreshBegunAt).toBeUndefined();
    expect(world.disk.get()?.generation).toBe(3);
  });

  test("if the intent cannot be written nothing is sent", async () => {
    const world = new World();
    world.signIn();
    const { source } = world.start();
    world.pass(HOUR_MS);
    world.disk.fault = new VaultError("disk", "the disk is full (ENOSPC)");
    await expect(source.obtain(SIGNAL)).rejects.toMatchObject({
      code: "upstream_unavailable",
      message: "the disk is full (ENOSPC)",
    });
    expect(world.issuer.sent).toEqual([]);
    expect(world.disk.get()?.tokens?.refreshToken).toBe("refresh-2");
  });

  test("tokens that cannot be written to disk are used, and written as soon as possible", async () => {
    const world = new World();
    world.signIn();
    const { source } = world.start();
    world.pass(HOUR_MS);
    world.issuer.meanwhile = async () => {
      world.disk.fault = new VaultError("disk", "the disk is full (ENOSPC)");
    };
    expect(await source.obtain(SIGNAL)).toBe("Bearer access-3");
    expect(world.outcomes).toEqual(["not_kept"]);
    world.disk.fault = undefined;
    world.pass(2_000);
    expect(source.header).toBe("Bearer access-3");
    await turns();
    expect(world.disk.get()?.tokens?.refreshToken).toBe("refresh-3");
    expect(world.issuer.sent).toHaveLength(1);
  });

  test("a client that needs no person stays signed in while its first tokens cannot be written", async () => {
    const world = new World();
    let obtained = 0;
    world.issuer.obtain = async () => {
      obtained += 1;
      const { generation: _g, tokens: _t, ...signIn } = world.issuer.signIn({ grant: "client_credentials" });
      const tokens = { accessToken: `service-${obtained}`, obtainedAt: world.now };
      return { kind: "tokens", tokens, signIn };
    };
    world.disk.fault = new VaultError("disk", "the disk is full (ENOSPC)");
    const { source } = world.start();
    for (let at = 0; at < 5; at += 1) {
      expect(source.header ?? (await source.obtain(SIGNAL))).toBe("Bearer service-1");
      await turns();
      world.pass(5_000);
    }
    expect(world.changes).toEqual([true]);
    world.disk.fault = undefined;
    expect(source.header).toBe("Bearer service-1");
    await turns();
    expect(world.disk.get()?.tokens?.accessToken).toBe("service-1");
  });

  test("tokens are used although the record has become unreadable, and written as soon as possible", async () => {
    const world = new World();
    world.signIn();
    const { source } = world.start();
    world.pass(HOUR_MS);
    world.issuer.meanwhile = async () => {
      world.disk.step = async () => {
        throw new VaultError("store", "the cluster's store cannot be reached");
      };
    };
    expect(await source.obtain(SIGNAL)).toBe("Bearer access-3");
    expect(world.outcomes).toEqual(["not_kept"]);
    world.disk.step = async () => {};
    world.pass(2_000);
    expect(source.header).toBe("Bearer access-3");
    await turns();
    expect(world.disk.get()?.tokens?.refreshToken).toBe("refresh-3");
    expect(world.issuer.sent).toHaveLength(1);
  });

  test("a lost response is retried once with the same token", async () => {
    const world = new World();
    world.signIn();
    const { source } = world.start();
    world.pass(HOUR_MS);
    world.issuer.fates.push("answer lost");
    expect(await source.obtain(SIGNAL)).toBe("Bearer access-3");
    expect(world.issuer.sent.map(({ refreshToken }) => refreshToken)).toEqual(["refresh-2", "refresh-2"]);
  });

  test("two lost responses keep the token and its intent, and the next attempt sends it again", async () => {
    const world = new World();
    world.signIn();
    const { source } = world.start();
    world.pass(HOUR_MS);
    world.issuer.fates.push("answer lost", "request lost");
    await expect(source.obtain(SIGNAL)).rejects.toMatchObject({
      code: "upstream_unavailable",
      retryable: true,
    });
    expect(world.disk.get()).toMatchObject({
      tokens: { refreshToken: "refresh-2" },
      refreshBegunAt: world.now,
    });
    world.pass(10_000);
    expect(await source.obtain(SIGNAL)).toBe("Bearer access-3");
    expect(world.issuer.sent).toHaveLength(3);
  });

  test("the intent of a killed process leads to one request with the same token", async () => {
    const world = new World();
    world.signIn();
    world.pass(HOUR_MS);
    const dead = world.start();
    world.issuer.fates.push("answer lost");
    world.issuer.meanwhile = async () => {
      world.issuer.meanwhile = () => Promise.resolve();
      dead.process.kill();
      await new Promise(() => {});
    };
    void dead.source.obtain(SIGNAL);
    await turns();
    expect(world.disk.get()?.refreshBegunAt).toBe(world.now);
    const { source } = world.start();
    expect(await source.obtain(SIGNAL)).toMatch(/^Bearer access-3$/);
    expect(world.issuer.sent.map(({ refreshToken }) => refreshToken)).toEqual(["refresh-2", "refresh-2"]);
  });

  test("invalid_grant ends the sign-in, and keeps client and scopes", async () => {
    const world = new World();
    world.signIn({ askedScopes: ["read", "write"] });
    const { source } = world.start();
    await source.obtain(SIGNAL);
    world.pass(HOUR_MS);
    world.issuer.fates.push("invalid_grant");
    await expect(source.obtain(SIGNAL)).rejects.toMatchObject({ code: "sign_in_required" });
    const kept = world.disk.get();
    expect(kept?.tokens).toBeUndefined();
    expect(kept).toMatchObject({ client: { clientId: "c1" }, askedScopes: ["read", "write"] });
    expect(world.changes).toEqual([false]);
    await expect(source.obtain(SIGNAL)).rejects.toMatchObject({ code: "sign_in_required" });
    expect(world.issuer.sent).toHaveLength(1);
  });

  test("invalid_grant for a token that another process has replaced uses the newer one", async () => {
    const world = new World();
    world.signIn();
    const { source } = world.start();
    world.pass(HOUR_MS);
    world.issuer.fates.push("invalid_grant");
    world.issuer.meanwhile = async () => world.signIn();
    expect(await source.obtain(SIGNAL)).toBe("Bearer access-3");
    expect(world.disk.get()?.tokens?.refreshToken).toBe("refresh-3");
  });

  test("a sign-out during the request stays a sign-out", async () => {
    const world = new World();
    world.signIn();
    const { source } = world.start();
    world.pass(HOUR_MS);
    world.issuer.meanwhile = async () => world.disk.records.clear();
    await expect(source.obtain(SIGNAL)).rejects.toMatchObject({ code: "sign_in_required" });
    expect(world.disk.get()).toBeUndefined();
  });

  test.each(["unavailable", "refused"] as const)("%s keeps the sign-in and backs off", async (fate) => {
    const world = new World();
    world.signIn();
    const { source } = world.start();
    world.pass(HOUR_MS);
    world.issuer.fates.push(fate, fate);
    await expect(source.obtain(SIGNAL)).rejects.toMatchObject({ code: "upstream_unavailable" });
    await expect(source.obtain(SIGNAL)).rejects.toMatchObject({ code: "upstream_unavailable" });
    expect(world.issuer.sent).toHaveLength(1);
    expect(world.disk.get()).toMatchObject({ tokens: { refreshToken: "refresh-2" } });
    expect(world.disk.get()?.refreshBegunAt).toBeUndefined();
    world.pass(1_000);
    await expect(source.obtain(SIGNAL)).rejects.toMatchObject({ code: "upstream_unavailable" });
    world.pass(1_999);
    await expect(source.obtain(SIGNAL)).rejects.toMatchObject({ code: "upstream_unavailable" });
    expect(world.issuer.sent).toHaveLength(2);
    world.pass(1);
    expect(await source.obtain(SIGNAL)).toBe("Bearer access-3");
  });

  test("Retry-After of the issuer is respected, and reported", async () => {
    const world = new World();
    world.signIn();
    const { source } = world.start();
    world.pass(HOUR_MS);
    world.issuer.retryAfterMs = 30_000;
    world.issuer.fates.push("unavailable");
    await expect(source.obtain(SIGNAL)).rejects.toMatchObject({ options: { retryAfterMs: 30_000 } });
    world.pass(29_999);
    await expect(source.obtain(SIGNAL)).rejects.toMatchObject({ code: "upstream_unavailable" });
    world.pass(1);
    expect(await source.obtain(SIGNAL)).toBe("Bearer access-3");
  });

  test("a dynamic client that the issuer no longer knows is registered again, once", async () => {
    const world = new World();
    world.signIn();
    const { source } = world.start();
    world.pass(HOUR_MS);
    world.issuer.fates.push("invalid_client");
    expect(await source.obtain(SIGNAL)).toBe("Bearer access-3");
    expect(world.disk.get()?.client.clientId).toBe("again-1");
    world.pass(HOUR_MS);
    world.issuer.fates.push("invalid_client", "invalid_client");
    await expect(source.obtain(SIGNAL)).rejects.toMatchObject({
      code: "upstream_unavailable",
      retryable: false,
    });
    expect(world.issuer.registrations).toBe(2);
    expect(world.disk.get()?.tokens?.refreshToken).toBe("refresh-3");
  });

  test.each(["config", "metadata_document"] as const)(
    "a client of the %s is not registered again: the operator gets the error, and nothing is lost",
    async (source_) => {
      const world = new World();
      world.signIn({ client: { clientId: "mine", tokenEndpointAuthMethod: "none", source: source_ } });
      const { source } = world.start();
      world.pass(HOUR_MS);
      world.issuer.fates.push("invalid_client");
      await expect(source.obtain(SIGNAL)).rejects.toMatchObject({
        code: "upstream_unavailable",
        message: expect.stringMatching(
          /client mine is not accepted at https:\/\/login\.example\.com.*clientId/,
        ),
      });
      expect(world.issuer.registrations).toBe(0);
      expect(world.disk.get()?.tokens?.refreshToken).toBe("refresh-2");
    },
  );
});

describe("a valid token", () => {
  test("is refreshed in the background at three quarters of its lifetime, while calls use it", async () => {
    const world = new World();
    world.signIn();
    const { source } = world.start();
    await source.obtain(SIGNAL);
    world.pass(0.75 * HOUR_MS - 1);
    expect(source.header).toBe("Bearer access-2");
    await turns();
    expect(world.issuer.sent).toEqual([]);
    world.pass(1);
    expect(source.header).toBe("Bearer access-2");
    expect(source.header).toBe("Bearer access-2");
    await turns();
    expect(world.issuer.sent).toHaveLength(1);
    expect(source.header).toBe("Bearer access-3");
  });

  test("is not refreshed while it is unused", async () => {
    const world = new World();
    world.signIn();
    const { source } = world.start();
    await source.obtain(SIGNAL);
    world.pass(0.9 * HOUR_MS);
    await turns();
    expect(world.issuer.sent).toEqual([]);
  });

  test("is used until its end while the issuer is down", async () => {
    const world = new World();
    world.signIn();
    const { source } = world.start();
    await source.obtain(SIGNAL);
    for (let at = 0; at < 20; at += 1) world.issuer.fates.push("unavailable");
    world.pass(0.75 * HOUR_MS);
    for (let at = 0; at < 10; at += 1) {
      expect(source.header).toBe("Bearer access-2");
      await turns();
      world.pass(60_000);
    }
    expect(world.disk.get()?.tokens?.refreshToken).toBe("refresh-2");
    expect(world.issuer.sent.length).toBeGreaterThan(3);
    world.pass(0.25 * HOUR_MS);
    expect(source.header).toBeUndefined();
    world.issuer.fates.length = 0;
    expect(await source.obtain(SIGNAL)).toBe("Bearer access-3");
  });

  test("without expires_in is refreshed only after a 401", async () => {
    const world = new World();
    world.issuer.lifeMs = undefined;
    world.signIn();
    const { source } = world.start();
    const sent = await source.obtain(SIGNAL);
    world.pass(1_000 * HOUR_MS);
    expect(source.header).toBe(sent);
    await turns();
    expect(world.issuer.sent).toEqual([]);
    expect(await source.onRejected(rejected(sent), SIGNAL)).toBe("Bearer access-3");
  });
});

describe("a 401 of the server", () => {
  test("for an older token is retried with the newest one, without a refresh", async () => {
    const world = new World();
    world.signIn();
    const { source } = world.start();
    await source.obtain(SIGNAL);
    expect(await source.onRejected(rejected("Bearer access-1"), SIGNAL)).toBe("Bearer access-2");
    expect(world.issuer.sent).toEqual([]);
  });

  test("is retried with the token that another process has refreshed", async () => {
    const world = new World();
    world.signIn();
    const [one, two] = [world.start(), world.start()];
    const old = await one.source.obtain(SIGNAL);
    await two.source.obtain(SIGNAL);
    expect(await one.source.onRejected(rejected(old), SIGNAL)).toBe("Bearer access-3");
    expect(await two.source.onRejected(rejected(old), SIGNAL)).toBe("Bearer access-3");
    expect(world.issuer.sent).toHaveLength(1);
  });

  test("for the newest token causes one refresh for 200 calls; a second 401 is final", async () => {
    const world = new World();
    world.signIn();
    const { source } = world.start();
    const old = await source.obtain(SIGNAL);
    const all = Array.from({ length: 200 }, () => source.onRejected(rejected(old), SIGNAL));
    expect(new Set(await Promise.all(all))).toEqual(new Set(["Bearer access-3"]));
    expect(world.issuer.sent).toHaveLength(1);
    expect(await source.onRejected(rejected("Bearer access-3", 2), SIGNAL)).toMatchObject({
      code: "sign_in_required",
    });
    await expect(source.obtain(SIGNAL)).rejects.toMatchObject({ code: "sign_in_required" });
    expect(world.issuer.sent).toHaveLength(1);
    expect(world.disk.get()?.tokens?.refreshToken).toBe("refresh-3");
  });

  test("for a token that cannot be replaced asks for a sign-in, and the token is tried again after a minute", async () => {
    const world = new World();
    world.signIn({ tokens: { accessToken: "only", obtainedAt: 0 } });
    const { source } = world.start();
    await source.obtain(SIGNAL);
    expect(await source.onRejected(rejected("Bearer only"), SIGNAL)).toMatchObject({
      code: "sign_in_required",
    });
    await expect(source.obtain(SIGNAL)).rejects.toMatchObject({ code: "sign_in_required" });
    world.pass(60_000);
    expect(await source.obtain(SIGNAL)).toBe("Bearer only");
    expect(world.disk.get()?.tokens?.accessToken).toBe("only");
  });

  test("while the issuer is down is an error of the gateway, without a sign-in", async () => {
    const world = new World();
    world.signIn();
    const { source } = world.start();
    const old = await source.obtain(SIGNAL);
    world.issuer.fates.push("unavailable");
    expect(await source.onRejected(rejected(old), SIGNAL)).toMatchObject({ code: "upstream_unavailable" });
    expect(source.header).toBe(old);
  });

  test("for a request without a token is retried with the token of a sign-in", async () => {
    const world = new World();
    world.signIn();
    const { source } = world.start();
    expect(await source.onRejected(rejected(undefined), SIGNAL)).toBe("Bearer access-2");
  });
});

describe("scopes of a 403", () => {
  const challenge = 'Bearer error="insufficient_scope", scope="write admin"';

  test("are requested at the next sign-in, with the earlier ones", async () => {
    const world = new World();
    world.signIn({ askedScopes: ["read", "write"] });
    const { source } = world.start();
    const sentHeader = await source.obtain(SIGNAL);
    const error = await source.onRejected({ status: 403, challenge, sentHeader, attempts: 1 }, SIGNAL);
    expect(error).toMatchObject({ code: "sign_in_required" });
    expect(source.lackedScopes).toEqual(["write", "admin"]);
    expect(source.header).toBe(sentHeader);
  });

  test("are obtained immediately if no person is needed", async () => {
    const world = new World();
    const asked: (readonly string[])[] = [];
    world.issuer.obtain = async ({ scopes }) => {
      asked.push(scopes);
      const {
        generation: _g,
        tokens: _t,
        ...signIn
      } = world.issuer.signIn({
        grant: "client_credentials",
        askedScopes: ["read", ...scopes],
      });
      return {
        kind: "tokens",
        tokens: { accessToken: `service-${asked.length}`, obtainedAt: world.now },
        signIn,
      };
    };
    const { source } = world.start();
    const sentHeader = await source.obtain(SIGNAL);
    expect(sentHeader).toBe("Bearer service-1");
    const rejection = { status: 403, challenge, sentHeader, attempts: 1 } as const;
    expect(await source.onRejected(rejection, SIGNAL)).toBe("Bearer service-2");
    expect(asked).toEqual([[], ["read", "write", "admin"]]);
    expect(world.disk.get()?.tokens?.accessToken).toBe("service-2");
    const again = { status: 403, challenge, sentHeader: "Bearer service-2", attempts: 1 } as const;
    expect(await source.onRejected(again, SIGNAL)).toMatchObject({ code: "sign_in_required" });
    expect(asked).toHaveLength(2);
  });
});

test("no token is logged, and refreshes of one token can be followed by a fingerprint", async () => {
  const world = new World();
  world.signIn();
  const { source } = world.start();
  world.pass(HOUR_MS);
  await source.obtain(SIGNAL);
  world.pass(HOUR_MS);
  world.issuer.fates.push("invalid_grant");
  await expect(source.obtain(SIGNAL)).rejects.toMatchObject({ code: "sign_in_required" });
  expect(world.lines).toEqual([
    {
      fields: expect.objectContaining({ server: "linear", principal: "ann", scopes: "read" }),
      sentence: "the token of linear was refreshed",
    },
    {
      fields: expect.objectContaining({ server: "linear", principal: "ann", outcome: "invalid_grant" }),
      sentence: "the token of linear was not refreshed: the refresh token is no longer accepted (revoked)",
    },
  ]);
  expect(world.lines[0]?.fields.fingerprint).toMatch(/^[\da-f]{8}$/);
  expect(JSON.stringify(world.lines)).not.toMatch(/access-|refresh-/);
});
