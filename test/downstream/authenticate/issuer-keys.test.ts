/** The issuer's keys: when they are fetched, rate limits, and what happens while the fetch fails. */
import { errors } from "jose";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { LogFields } from "../../../src/core/logger.js";
import { SILENT } from "../../../src/core/logger.js";
import { issuerKeys, KeysUnavailable } from "../../../src/downstream/authenticate/issuer-keys.js";
import { issuer } from "../../support/issuer.js";
import { authenticationOf, bearer, jwtConfig, outcome } from "./support.js";

const ISSUER = "https://login.example.com";
const KEYS = `${ISSUER}/keys`;
const EC = { kty: "EC", crv: "P-256", alg: "ES256" };
const POINT = {
  x: "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
  y: "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
};

interface Served {
  kids: string[];
  failing: string | undefined;
  readonly asked: string[];
}

function keysOf(jwksUri: string | undefined = KEYS) {
  const served: Served = { kids: ["one"], failing: undefined, asked: [] };
  const said: string[] = [];
  const fetch = async (url: string): Promise<unknown> => {
    served.asked.push(url);
    if (served.failing !== undefined) throw new Error(served.failing);
    return { keys: served.kids.map((kid) => ({ ...EC, ...POINT, kid })) };
  };
  const logger = { ...SILENT, warn: (_: LogFields, sentence: string) => void said.push(sentence) };
  const keys = issuerKeys({ jwt: { issuer: ISSUER, jwksUri }, fetch, logger });
  /** The name of what came of it. */
  const find = async (kid: string): Promise<string> => {
    try {
      await keys({ alg: "ES256", kid }, { payload: "", signature: "" });
      return "found";
    } catch (error) {
      return error instanceof KeysUnavailable
        ? "unavailable"
        : error instanceof errors.JOSEError
          ? "none"
          : "?";
    }
  };
  return { served, said, find };
}

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance", "Date"] }));
afterEach(() => void vi.useRealTimers());

describe("the keys of an issuer", () => {
  test("are fetched with the first token, once for all that come at once", async () => {
    const { served, find } = keysOf();
    expect(served.asked).toEqual([]);
    expect(await Promise.all([find("one"), find("one"), find("one")])).toEqual(["found", "found", "found"]);
    expect(served.asked).toEqual([KEYS]);
  });

  test("are fetched again for an unknown key id, at most every 30 s", async () => {
    const { served, find } = keysOf();
    await find("one");
    expect([await find("two"), served.asked.length]).toEqual(["none", 1]);
    vi.advanceTimersByTime(30_000);
    served.kids = ["two"];
    expect([await find("two"), served.asked.length]).toEqual(["found", 2]);
    // The key that is gone is gone.
    expect([await find("one"), served.asked.length]).toEqual(["none", 2]);
  });

  test("are not fetched more often for made-up key ids", async () => {
    const { served, find } = keysOf();
    await find("one");
    for (let second = 0; second < 120; second += 1) {
      vi.advanceTimersByTime(1_000);
      const made = Array.from({ length: 50 }, (_, at) => find(`made up ${second} ${at}`));
      expect(new Set(await Promise.all(made))).toEqual(new Set(["none"]));
    }
    expect(served.asked.length).toBeLessThanOrEqual(1 + 120 / 30);
  });

  test("are fetched again in the background after 10 minutes", async () => {
    const { served, find } = keysOf();
    await find("one");
    vi.advanceTimersByTime(10 * 60_000 - 1);
    await find("one");
    expect(served.asked.length).toBe(1);
    vi.advanceTimersByTime(1);
    expect(await find("one")).toBe("found");
    expect(served.asked.length).toBe(2);
  });

  test("that are cached are used for an hour while the issuer is unreachable, and no longer", async () => {
    const { served, find, said } = keysOf();
    await find("one");
    served.failing = "connection refused";
    vi.advanceTimersByTime(59 * 60_000);
    expect(await find("one")).toBe("found");
    await vi.waitFor(
      () => expect(said).toEqual(["the keys of the issuer cannot be fetched: connection refused"]),
      { timeout: 60_000 },
    );
    vi.advanceTimersByTime(60_000);
    expect(await find("one")).toBe("unavailable");
    served.failing = undefined;
    vi.advanceTimersByTime(5_000);
    expect(await find("one")).toBe("found");
  });

  test("that cannot be fetched are not requested for every token", async () => {
    const { served, find, said } = keysOf();
    served.failing = "no";
    for (let at = 0; at < 50; at += 1) expect(await find("one")).toBe("unavailable");
    expect([served.asked.length, said.length]).toEqual([1, 1]);
    vi.advanceTimersByTime(5_000);
    served.failing = undefined;
    expect(await find("one")).toBe("found");
  });

  test("that cannot be fetched when a new one is needed leave the validity of the token open", async () => {
    const { served, find } = keysOf();
    await find("one");
    vi.advanceTimersByTime(30_000);
    served.failing = "no";
    expect(await find("two")).toBe("unavailable");
    expect(await find("two")).toBe("unavailable");
    expect([await find("one"), served.asked.length]).toEqual(["found", 2]);
  });
});

describe("what an issuer may answer", () => {
  beforeEach(() => void vi.useRealTimers());
  const unavailable = { status: 503, message: /^tokens cannot be checked now/ };

  test.each([
    ["503", (response: import("node:http").ServerResponse) => void response.writeHead(503).end("later")],
    ["a redirect", (response) => void response.writeHead(302, { location: "http://127.0.0.1:1/keys" }).end()],
    ["no JSON", (response) => void response.writeHead(200).end("<html>")],
    ["another document", (response) => void response.writeHead(200).end("[]")],
    ["keys that are none", (response) => void response.writeHead(200).end('{"keys":["a"]}')],
    ["too much", (response) => void response.writeHead(200).end(`"${"x".repeat(300_000)}"`)],
    [
      "too much, piece by piece",
      (response) => {
        response.writeHead(200);
        const more = (): void => {
          while (!response.destroyed && response.write("x".repeat(65_536)));
          response.once("drain", more);
        };
        more();
      },
    ],
    [
      "half an answer",
      (response) => {
        response.writeHead(200, { "content-length": "100" }).write('{"keys":[');
        setImmediate(() => response.destroy());
      },
    ],
    ["nothing", (response) => void response.destroy()],
  ] as [string, (response: import("node:http").ServerResponse) => void][])(
    "%s: the token is refused for now (503), and nothing crashes",
    async (_what, failing) => {
      for (const jwksUri of [true, false]) {
        const from = await issuer();
        const token = await from.token();
        const more = jwksUri ? { jwksUri: `${from.url}/keys` } : {};
        const authentication = authenticationOf({ jwt: jwtConfig(from.url, more) });
        from.failing = failing;
        const told = await outcome(authentication, bearer(token));
        expect(told).toMatchObject({ status: 503, message: expect.stringMatching(unavailable.message) });
        expect(authentication.failures).toEqual(["unavailable"]);
      }
    },
  );

  test("keys of which some cannot be used: the others can", async () => {
    const from = await issuer();
    const { keys } = from.keys();
    from.keys = () => ({ keys: [{ kty: "unheard of" }, { kty: "oct", k: "AAAA", kid: "key-1" }, ...keys] });
    const authentication = authenticationOf({ jwt: jwtConfig(from.url) });
    expect(await outcome(authentication, bearer(await from.token()))).toMatchObject({ id: "alice" });
  });

  test("a new key between two tokens: the second is taken too", async () => {
    vi.useFakeTimers({ toFake: ["performance", "Date"] });
    const from = await issuer();
    const authentication = authenticationOf({ jwt: jwtConfig(from.url) });
    await outcome(authentication, bearer(await from.token()));
    await from.rotate();
    vi.advanceTimersByTime(30_000);
    expect(await outcome(authentication, bearer(await from.token()))).toMatchObject({ id: "alice" });
  });
});

describe("where the keys are", () => {
  beforeEach(() => void vi.useRealTimers());

  test("is named by the issuer's metadata at the well-known URLs", async () => {
    const from = await issuer();
    const authentication = authenticationOf({ jwt: jwtConfig(from.url) });
    expect(await outcome(authentication, bearer(await from.token()))).toMatchObject({ id: "alice" });
    expect(from.asked).toEqual([
      "/.well-known/oauth-authorization-server",
      "/.well-known/openid-configuration",
      "/keys",
    ]);
  });

  test("with a path in the issuer URL there are three metadata URLs", async () => {
    const { served, find } = keysOf();
    expect(await find("one")).toBe("found");
    expect(served.asked).toEqual([KEYS]);
    const asked: string[] = [];
    const fetch = async (url: string): Promise<unknown> => {
      asked.push(url);
      throw new Error("no");
    };
    const keys = issuerKeys({ jwt: { issuer: `${ISSUER}/tenant/` }, fetch, logger: SILENT });
    await expect(keys({ alg: "ES256" }, { payload: "", signature: "" })).rejects.toThrow(KeysUnavailable);
    expect(asked).toEqual([
      `${ISSUER}/.well-known/oauth-authorization-server/tenant`,
      `${ISSUER}/.well-known/openid-configuration/tenant`,
      `${ISSUER}/tenant/.well-known/openid-configuration`,
    ]);
  });

  test.each([
    ["of another issuer", { issuer: "https://evil.example.com" }],
    ["without keys", { jwks_uri: undefined }],
    ["with keys that anybody on the way could change", { jwks_uri: "http://evil.example.com/keys" }],
    ["with keys in a file", { jwks_uri: "file:///etc/passwd" }],
  ])("metadata %s is not believed", async (_what, metadata) => {
    const from = await issuer();
    from.metadata = metadata;
    const authentication = authenticationOf({ jwt: jwtConfig(from.url) });
    expect(await outcome(authentication, bearer(await from.token()))).toMatchObject({ status: 503 });
    expect(from.asked).not.toContain("/keys");
  });
});
