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
import { send } from "../../support/http-host.js";
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

interface ServingOptions {
  readonly port?: number;
  readonly ends?: Ends;
  /** Where browsers reach the gateway. Default: where it listens. */
  readonly publicUrl?: string;
  /** Receives the URL of the listener for operators. */
  readonly onStart?: (adminUrl: string) => void;
}

/** A gateway that serves; resolves to the URL for hosts. */
export async function serving(
  file: { readonly auth?: object; readonly mcpServers?: object; readonly [section: string]: unknown } = {},
  options: ServingOptions = {},
): Promise<string> {
  const { port = 0, ends = onTestFinished, publicUrl, onStart } = options;
  const wiki = await recordingServer(
    "wiki",
    "modern",
    { tools: ["read", "write", "delete", "sum"] },
    () => {},
  );
  const pay = await recordingServer("pay", "modern", { tools: ["send"] }, () => {});
  const folder = mkdtempSync(join(tmpdir(), "cardea-person-"));
  const config = configOf({
    listen: { http: { port, ...(publicUrl !== undefined && { publicUrl }) }, admin: { port: 0 } },
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
  const { url, adminUrl = "" } = await gateway.start();
  onStart?.(adminUrl);
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
  { ends = onTestFinished, publicUrl, onStart }: Omit<ServingOptions, "port"> = {},
): Promise<{ readonly url: string; readonly page: string }> {
  const port = await freePort();
  const page = `${publicUrl ?? `http://127.0.0.1:${port}`}/`;
  const auth = await companyOf(page, ends);
  return {
    url: await serving(
      { auth, ...file },
      {
        ...{ port, ends },
        ...(publicUrl !== undefined && { publicUrl }),
        ...(onStart !== undefined && { onStart }),
      },
    ),
    page,
  };
}

/** `auth` of a gateway with this page, whose persons have a login at a real issuer. */
export async function companyOf(page: string, ends: Ends = onTestFinished): Promise<object> {
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
  return { signIn: { issuer: company.issuer, clientId: "cardea", clientSecret: SECRET } };
}

/** How requests of a browser reach a gateway. */
type Reach = (url: string, init: RequestInit) => Promise<Response>;

/**
 * Over a connection of its own for each request, as a proxy without affinity does: in turn to each of the listeners at `origins`,
 * with these headers.
 */
export function byProxy(origins: readonly string[], headers: Readonly<Record<string, string>> = {}): Reach {
  let next = 0;
  return async (url, { method = "GET", body, headers: sent }) => {
    const { pathname, search } = new URL(url);
    const origin = origins[next % origins.length] ?? "";
    next += 1;
    const isForm = body instanceof URLSearchParams;
    const answer = await send(`${origin}${pathname}${search}`, {
      method,
      headers: {
        ...(sent as Record<string, string>),
        ...(isForm && { "content-type": "application/x-www-form-urlencoded" }),
        ...headers,
      },
      ...(isForm && { body: body.toString() }),
    });
    const named = Object.entries(answer.headers).flatMap(([name, value = []]) =>
      [value].flat().map((each): [string, string] => [name, each]),
    );
    return new Response(answer.text, { status: answer.status, headers: named });
  };
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

  /** @param reach default: the URL itself */
  constructor(readonly reach: Reach = fetch) {}

  async open(url: string, init: RequestInit = {}): Promise<Got> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await this.reach(url, {
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
