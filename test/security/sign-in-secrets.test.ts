/**
 * Secrets of a sign-in stay between the gateway and the issuer: no other peer receives them, and none is written
 * unencrypted.
 */
import "../features/admin/needed.js";
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { MAIN } from "../support/cardea.js";
import { hasFeature } from "../support/features.js";
import { httpWire } from "../support/host/wires.mjs";
import { openLegacy, openModern } from "../support/peers/raw.js";
import { type Started, start } from "../support/processes.js";
import { sample } from "../support/sample.js";
import { Browser } from "../support/sign-in/browser.js";
import { type RealIssuer, startRealIssuer } from "../support/sign-in/real-issuer.mjs";
import { until } from "../support/until.js";

const KEY = "key-of-ann-that-only-her-host-has";
const TOKEN = "token-of-the-operator-of-this-gateway";

interface Told {
  readonly result?: { readonly _meta?: { readonly "cardea/sign-in"?: { readonly url: string } } };
}

const WAYS: readonly (readonly [string, readonly string[]])[] = [
  ["in one process", []],
  ...(hasFeature("workers") ? [["in two workers", ["--workers", "2"]] as const] : []),
];

describe.skipIf(!hasFeature("sign-in")).each(sample("ways to run", WAYS, 1))(
  "of a gateway that runs %s",
  (_how, flags) => {
    const folder = mkdtempSync(join(tmpdir(), "cardea-sign-in-secrets-"));
    const configFile = join(folder, "cardea.json");
    const state = join(folder, "state");
    const authorization = `Bearer ${TOKEN}`;
    let issuer: RealIssuer;
    let gateway: Started;
    let admin = "";
    /** The messages to hosts and browsers. */
    const told: string[] = [];

    /** The names of the secrets in the text, in any spelling. */
    const found = (text: string): readonly string[] =>
      [...issuer.secrets].flatMap(([secret, name]) => {
        const spellings = [
          secret,
          encodeURIComponent(secret),
          Buffer.from(secret).toString("base64").slice(0, -4),
        ];
        return spellings.some((spelling) => text.includes(spelling)) ? [name] : [];
      });

    async function pages(): Promise<string> {
      const headers = { authorization };
      const index = (await (await fetch(`${admin}/api/v1`, { headers })).json()) as { pages: string[] };
      // The stream has the rows of `/api/v1/calls`, and does not end.
      const finite = index.pages.filter((path) => !path.endsWith("/stream"));
      const paths = ["/healthz", "/readyz", "/metrics", "/api/v1/explain?name=notes__whoami", ...finite];
      const texts = await Promise.all(
        paths.map(async (path) => `${path}\n${await (await fetch(admin + path, { headers })).text()}`),
      );
      return texts.join("\n");
    }

    /** A life of a sign-in: begun, finished, refreshed, widened, refused, ended, and an issuer that has gone. */
    beforeAll(async () => {
      issuer = await startRealIssuer();
      const hash = createHash("sha256").update(KEY).digest("hex");
      writeFileSync(
        configFile,
        JSON.stringify({
          listen: { http: { port: 0 }, admin: { port: 0, token: TOKEN } },
          auth: { keys: [{ id: "ann", hash }] },
          mcpServers: { notes: { url: issuer.mcpUrl, auth: { scopes: ["read"] } } },
        }),
      );
      const env = {
        ...{ PATH: process.env.PATH, HOME: folder, CARDEA_STATE_DIR: state },
        CARDEA_LOG_LEVEL: "debug",
      };
      gateway = start(process.execPath, [MAIN, "serve", ...flags, "--config", configFile], {
        env,
        cwd: folder,
      });
      const [, url = "", at = ""] = await gateway.says(/(http:\/\/[^\s"]+\/mcp).*?(http:\/\/[^\s"]+)"/);
      admin = at;
      for (const open of [openLegacy, openModern]) {
        const host = await open(httpWire(url, { authorization: `Bearer ${KEY}` }));
        const call = async (tool: string): Promise<string | undefined> => {
          const { message } = await host.call(`notes__${tool}`);
          told.push(JSON.stringify(message));
          return (message as Told).result?._meta?.["cardea/sign-in"]?.url;
        };
        const signIn = async (page: string | undefined): Promise<string> => {
          const browser = new Browser();
          const shown = await browser.signIn(page ?? "", "ann", { key: KEY });
          told.push(shown.text, ...browser.setCookies);
          return shown.url;
        };
        const callback = await signIn(await call("whoami"));
        // A code that was used, and one that is not known.
        for (const again of [callback, callback.replace(/state=[^&]+/, "state=unknown")])
          told.push((await new Browser().open(again)).text);
        await until("the tool to be listed", async () => {
          const names = (await host.list("tools")).map(({ name }) => name);
          return names.includes("notes__whoami");
        });
        issuer.expireAccessTokens();
        expect(await call("whoami")).toBeUndefined();
        // The second one requests the missing scope immediately.
        const wider = await call("admin_only");
        if (wider !== undefined) await signIn(wider);
        expect(await call("admin_only")).toBeUndefined();
        told.push(await pages());
        const headers = { authorization, "content-type": "application/json" };
        const signOut = await fetch(`${admin}/api/v1/logins/notes/ann/sign-out`, {
          ...{ method: "POST", headers, body: "{}" },
        });
        told.push(await signOut.text());
        expect(signOut.status).toBe(200);
        const ended = await call("whoami");
        expect(ended, told.at(-1)).toContain("/oauth/connect/");
        await host.close();
      }
      const host = await openLegacy(httpWire(url, { authorization: `Bearer ${KEY}` }));
      const page = (await host.call("notes__whoami")).message as Told;
      const last = await new Browser().signIn(page.result?._meta?.["cardea/sign-in"]?.url ?? "", "ann", {
        key: KEY,
      });
      expect(last.text).toContain("Signed in to notes");
      issuer.expireAccessTokens();
      await issuer.close();
      told.push(JSON.stringify((await host.call("notes__whoami")).message), await pages());
      await host.close();
    }, 60_000);

    afterAll(async () => {
      await gateway.stop();
      rmSync(folder, { recursive: true, force: true });
    });

    test("there were secrets of every kind, which a look would find", () => {
      expect([...new Set(issuer.secrets.values())].sort()).toEqual(
        expect.arrayContaining(["access_token", "code", "code_verifier", "refresh_token"]),
      );
      expect(found([...issuer.secrets.keys()].join())).toHaveLength(issuer.secrets.size);
      expect(told.join()).toContain("Signed in to notes");
      expect(told.join()).toMatch(/cardea_sign_ins_total\{[^}]*outcome="stepped_up"[^}]*\} 1/);
    });

    test("hosts, browsers, admin pages and metrics receive none", () => {
      expect(found(told.join("\n"))).toEqual([]);
      expect(told.join("\n")).not.toContain(KEY);
    });

    test("the log has none", async () => {
      await gateway.says(/signed in at notes/);
      expect(gateway.stderr()).toContain("the token of notes was refreshed");
      expect(found(gateway.stderr())).toEqual([]);
      expect(gateway.stderr()).not.toContain(KEY);
    });

    test("no file has one as it is", () => {
      const files = readdirSync(state, { recursive: true, encoding: "utf8", withFileTypes: true }).filter(
        (entry) => entry.isFile(),
      );
      expect(files.length).toBeGreaterThan(1);
      const texts = files.map(({ parentPath, name }) => textOf(join(parentPath, name)));
      expect(found(texts.join("\n"))).toEqual([]);
    });
  },
);

/** What is in the file; nothing if the gateway has removed it meanwhile. */
function textOf(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
    throw error;
  }
}
