/** A gateway with the page, rules, and persons of a real issuer. */
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { SILENT } from "../../../src/core/logger.js";
import { personPage } from "../../../src/features/person-page/feature.js";
import { createGateway } from "../../../src/gateway/gateway.js";
import { CHANNELS, openedFeatures } from "../../support/features.js";
import { configOf } from "../../support/gateway.js";
import { recordingServer } from "../../support/servers/recording-server.js";
import { authorizeAs } from "../../support/sign-in/person.mjs";
import { startRealIssuer } from "../../support/sign-in/real-issuer.mjs";
import { freePort } from "../../support/told-port.js";

export const PAGE = personPage.name;
/** What a browser sends with the address that a person has typed. */
export const BROWSER = { accept: "text/html,application/xhtml+xml,*/*;q=0.8", "user-agent": "Mozilla/5.0" };
const KEY = "the-key-of-ann";
export const KEYS = [{ id: "ann", hash: `sha256:${createHash("sha256").update(KEY).digest("hex")}` }];

/** Rules for persons by id, as the issuer of tests names no groups. */
const RULES = [
  { name: "read-only", tools: ["wiki__write"], effect: "deny", message: "the wiki is read-only here" },
  { name: "ask", tools: ["wiki__delete"], effect: "approve" },
  { name: "small", tools: ["wiki__sum"], when: "args.a > 3", effect: "deny" },
  { name: "not-for-bob", tools: ["pay__*"], principals: ["bob"], effect: "hide" },
];

/** Ends what a test or a file has started. */
export type Ends = (end: () => Promise<void>) => void;

/** A gateway that serves; resolves to the URL for hosts. */
export async function serving(
  file: { readonly auth?: object; readonly mcpServers?: object; readonly [section: string]: unknown } = {},
  { port = 0, ends = onTestFinished }: { readonly port?: number; readonly ends?: Ends } = {},
): Promise<string> {
  const wiki = await recordingServer(
    "wiki",
    "modern",
    { tools: ["read", "write", "delete", "sum"] },
    () => {},
  );
  const pay = await recordingServer("pay", "modern", { tools: ["send"] }, () => {});
  const folder = mkdtempSync(join(tmpdir(), "cardea-person-"));
  const config = configOf({
    listen: { http: { port }, admin: { port: 0 } },
    policy: { rules: RULES },
    ...file,
    mcpServers: {
      wiki: { type: "http", url: wiki.url },
      pay: { type: "http", url: pay.url },
      ...file.mcpServers,
    },
  });
  const features = await openedFeatures(config, { stateFolder: folder, servesHosts: true });
  const gateway = createGateway(config, {
    ...{ logger: SILENT, version: "0.0.0-test", features, channels: CHANNELS },
  });
  const { url } = await gateway.start();
  ends(async () => {
    await gateway.stop({ immediate: true });
    await Promise.all([wiki.close(), pay.close()]);
    rmSync(folder, { recursive: true, force: true });
  });
  return url;
}

const SECRET = "the secret of the gateway";

/** The same, where persons sign in at a real issuer. */
export async function servingPersons(
  file: Parameters<typeof serving>[0] = {},
  ends: Ends = onTestFinished,
): Promise<{ readonly url: string; readonly page: string }> {
  const port = await freePort();
  const page = `http://127.0.0.1:${port}/`;
  const company = await startRealIssuer({
    clients: [
      {
        client_id: "cardea",
        client_secret: SECRET,
        redirect_uris: [`${page}oauth/authorize/callback`, `${page}oauth/callback`],
        grant_types: ["authorization_code"],
        token_endpoint_auth_method: "client_secret_basic",
      },
    ],
  });
  ends(() => company.close());
  const auth = { signIn: { issuer: company.issuer, clientId: "cardea", clientSecret: SECRET } };
  return { url: await serving({ auth, ...file }, { port, ends }), page };
}

/** What a browser has got. */
export interface Got {
  readonly status: number;
  readonly text: string;
  readonly location: string;
  readonly headers: Headers;
}

/** A person's browser: it keeps cookies, and follows nothing by itself. */
export class PersonsBrowser {
  readonly cookies = new Map<string, string>();
  readonly setCookies: string[] = [];

  async open(url: string, init: RequestInit = {}): Promise<Got> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(url, {
      redirect: "manual",
      ...init,
      headers: { ...BROWSER, ...(cookie !== "" && { cookie }), ...(init.headers as Record<string, string>) },
    });
    for (const line of response.headers.getSetCookie()) {
      this.setCookies.push(line);
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === "") this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    const { status, headers } = response;
    return { status, headers, text: await response.text(), location: headers.get("location") ?? "" };
  }

  /** Presses a button of the page at `url`. */
  press(
    url: string,
    fields: Readonly<Record<string, string>>,
    headers: Readonly<Record<string, string>> = { "sec-fetch-site": "same-origin" },
  ): Promise<Got> {
    return this.open(url, { method: "POST", body: new URLSearchParams(fields), headers });
  }

  /** Signs `person` in, and opens the page again. */
  async signIn(url: string, person: string): Promise<Got> {
    const begun = await this.press(url, { action: "sign-in" });
    const finished = await this.open(await authorizeAs(begun.location, person));
    return this.open(finished.location);
  }
}
