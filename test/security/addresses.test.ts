/** SSRF: only the config may direct the gateway to this machine, its network, its cloud. */
import type { LookupAddress, lookup } from "node:dns";
import { describe, expect, test } from "vitest";
import { SILENT } from "../../src/core/logger.js";
import { fetchJson } from "../../src/downstream/authenticate/issuer-keys.js";
import { isPublicAddress, isPublicHost, publicLookup } from "../../src/http/public-addresses.js";
import { authenticationOf, bearer, jwtConfig, outcome } from "../downstream/authenticate/support.js";
import { canaryListener } from "../support/canary-listener.js";
import { issuer } from "../support/issuer.js";

/** As they may stand in a URL. */
const FORMS = [
  "127.0.0.1",
  "127.1",
  "127.255.255.254",
  "0x7f000001",
  "0x7f.1",
  "2130706433",
  "017700000001",
  "0177.0.0.1",
  "１２７.０.０.１",
  "0",
  "0.0.0.0",
  "[::]",
  "[::1]",
  "[0:0:0:0:0:0:0:1]",
  "[::127.0.0.1]",
  "[::ffff:127.0.0.1]",
  "[::ffff:7f00:1]",
  "[64:ff9b::7f00:1]",
  "[64:ff9b:1::7f00:1]",
  "[2002:7f00:1::]",
  "[2001:0:7f00:1::]",
  "[fe80::1]",
  "[fec0::1]",
  "[fd00::1]",
  "[ff02::1]",
  "10.0.0.1",
  "100.64.0.1",
  "169.254.169.254",
  "172.31.255.255",
  "192.168.0.1",
  "198.18.0.1",
  "224.0.0.1",
  "255.255.255.255",
] as const;

describe("an address in a URL", () => {
  test.each(FORMS)("is not public: %s", async (form) => {
    const { hostname } = new URL(`https://${form}/keys`);
    expect(isPublicHost(hostname)).toBe(false);
    const canary = await canaryListener();
    const signal = AbortSignal.timeout(60_000);
    await expect(fetchJson(`http://${form}:${canary.port}/keys`, signal, "public")).rejects.toThrow(
      /is an address of this machine or of a private network/,
    );
    expect(canary.touched).toBe(0);
  });

  test.each([
    "93.184.216.34",
    "8.8.8.8",
    "[2606:4700:4700::1111]",
    "[::ffff:8.8.8.8]",
    "172.15.0.1",
    "172.32.0.1",
    "100.63.0.1",
    "169.253.0.1",
  ])("is public: %s", (form) => expect(isPublicHost(new URL(`https://${form}/`).hostname)).toBe(true));

  test("has no answer where it is no address", () => {
    for (const text of ["", "localhost", "1.2.3", "fe80::1%eth0"]) expect(isPublicAddress(text)).toBe(false);
  });
});

describe("a host name", () => {
  /** A name server that answers differently each time, the last answer for ever. */
  function nameServer(...answers: readonly (readonly string[])[]) {
    let asked = 0;
    const resolve = ((
      _name: string,
      _options: object,
      done: (error: null, found: LookupAddress[]) => void,
    ) => {
      const answer = answers[Math.min(asked, answers.length - 1)] ?? [];
      asked += 1;
      done(
        null,
        answer.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
      );
    }) as unknown as typeof lookup;
    return { resolve, asked: () => asked };
  }
  const resolved = (answer: readonly string[], all: boolean): Promise<unknown> =>
    new Promise((done, failed) => {
      publicLookup(nameServer(answer).resolve)("keys.example", { all }, (error, found, family) =>
        error === null ? done(all ? found : [found, family]) : failed(error),
      );
    });

  test("that resolves to public addresses only is connected to", async () => {
    const both = ["93.184.216.34", "2606:4700:4700::1111"];
    expect(await resolved(both, true)).toEqual([
      { address: both[0], family: 4 },
      { address: both[1], family: 6 },
    ]);
    expect(await resolved(both, false)).toEqual([both[0], 4]);
  });

  test.each([
    [["127.0.0.1"]],
    [["::1"]],
    [["::ffff:127.0.0.1"]],
    [["93.184.216.34", "127.0.0.1"]],
    [["169.254.169.254", "93.184.216.34"]],
    [[]],
  ])("that resolves to %j is refused", async (answer) => {
    for (const all of [true, false]) await expect(resolved(answer, all)).rejects.toThrow(/private network/);
  });

  test("is resolved once, and the checked address is connected to (DNS rebinding)", async () => {
    const server = nameServer(["93.184.216.34"], ["127.0.0.1"]);
    const look = publicLookup(server.resolve);
    const addresses = await new Promise((done) =>
      look("keys.example", { all: true }, (_, found) => done(found)),
    );
    expect([addresses, server.asked()]).toEqual([[{ address: "93.184.216.34", family: 4 }], 1]);
    await expect(new Promise((_, failed) => look("keys.example", {}, failed))).rejects.toThrow(
      /private network/,
    );
  });

  test("of this machine resolves to one of its addresses", async () => {
    const canary = await canaryListener();
    for (const name of ["localhost", "localhost.", "LOCALHOST"]) {
      const fetched = fetchJson(`http://${name}:${canary.port}/keys`, AbortSignal.timeout(60_000), "public");
      // Some machines know only the first.
      await expect(fetched).rejects.toThrow(name === "localhost" ? /private network/ : /localhost/i);
    }
    expect(canary.touched).toBe(0);
  });
});

describe("a compromised issuer", () => {
  test.each(["10.0.0.1", "169.254.169.254", "[::ffff:10.0.0.1]", "0x0a000001"])(
    "cannot redirect the gateway to %s for its keys",
    async (form) => {
      const from = await issuer();
      from.metadata = { jwks_uri: `https://${form}/latest/meta-data` };
      let why = "";
      const warn = (_: object, sentence: string): void => {
        why += sentence;
      };
      const logger = { ...SILENT, warn };
      const authentication = authenticationOf({ jwt: jwtConfig(from.url) }, { logger });
      expect(await outcome(authentication, bearer(await from.token()))).toMatchObject({ status: 503 });
      expect(why).toContain("is an address of this machine or of a private network");
    },
  );

  test("may have a private JWKS address where the config itself names it", async () => {
    const from = await issuer();
    const authentication = authenticationOf({ jwt: jwtConfig(from.url, { jwksUri: `${from.url}/keys` }) });
    expect(await outcome(authentication, bearer(await from.token()))).toMatchObject({ id: "alice" });
  });
});
