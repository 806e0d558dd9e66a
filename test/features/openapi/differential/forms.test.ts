/**
 * No call bypasses a rule by the names of a form, a query or a JSON body that an HTTP API reads differently. Requests to the
 * API, through the whole gateway, are read by Express, Rack, PHP, Go and Python; no reading may be one that a rule denies, or
 * change what the config fixes.
 *
 * `npm run differential` sends 100,000 calls; by default it is 700.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { Agent, createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect } from "vitest";
import type { Gateway } from "../../../../src/gateway/gateway.js";
import { isObject, type JsonObject } from "../../../../src/wire/json.js";
import fc from "../../../support/fast-check.js";
import { testOf } from "../../../support/features.js";
import { gatewayOf } from "../../../support/gateway.js";
import { modernRequest } from "../../../support/http-host.js";
import { TAKES_ALL } from "../../../support/sample.js";
import { DOCUMENT, type FormCall, formCalls } from "./form-calls.js";
import { type FormReadings, type FormRequest, formReaders } from "./form-readers.js";

/** The gateway of these tests has rules. */
const test = testOf("policy");

const RUNS = Number(process.env.CARDEA_RUNS ?? (TAKES_ALL ? 2_000 : 700));
const AT_ONCE = 16;
const FIXED = { note: "own", filter: { account: "own" } };
const RULES = [
  "args.body.env == 'prod'",
  "args.env == 'prod'",
  "args.more.env == 'prod'",
  "args.body.filter.account == 'victim' || args.body.filter.env == 'prod'",
  "args.filter.account == 'victim'",
  "args.body.account == 'victim' || args.more.account == 'victim'",
].map((when, at) => ({ name: `no-${at}`, when, effect: "deny" }));

interface Arrived extends FormRequest {
  readonly tool: string;
}

const arrived: Arrived[] = [];
const api = createServer((incoming, response) => {
  const chunks: Buffer[] = [];
  incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
  incoming.on("end", () => {
    const [path = "", query = ""] = (incoming.url ?? "").split("?");
    const contentType = incoming.headers["content-type"] ?? "";
    arrived.push({ tool: path.slice(1), query, contentType, body: Buffer.concat(chunks) });
    response.end();
  });
});
const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
const folder = mkdtempSync(join(tmpdir(), "cardea-forms-"));
let gateway: Gateway;
let endpoint: string;

beforeAll(async () => {
  await new Promise<void>((resolve) => void api.listen(0, "127.0.0.1", resolve));
  const spec = join(folder, "api.json");
  writeFileSync(spec, JSON.stringify(DOCUMENT));
  gateway = await gatewayOf({
    mcpServers: {
      api: {
        type: "openapi",
        spec,
        baseUrl: `http://127.0.0.1:${(api.address() as AddressInfo).port}`,
        overrides: { fixed: { arguments: { fixed: FIXED } } },
      },
    },
    policy: { rules: RULES },
  });
  endpoint = (await gateway.start()).url;
  await gateway.lists("tools");
});

afterAll(async () => {
  agent.destroy();
  await gateway.stop({ immediate: true });
  api.closeAllConnections();
  api.close();
  rmSync(folder, { recursive: true, force: true });
});

function post({ tool, args }: FormCall): Promise<void> {
  const { headers, body } = modernRequest("tools/call", { name: `api__${tool}`, arguments: args });
  return new Promise((resolve, reject) => {
    const posted = request(endpoint, { method: "POST", agent, headers: headers as Record<string, string> });
    posted.on("error", reject);
    posted.on("response", (response) => {
      response.on("end", resolve).on("error", reject).resume();
    });
    posted.end(body);
  });
}

/** All texts in a value. */
function textsIn(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(textsIn);
  return isObject(value) ? Object.values(value).flatMap(textsIn) : [String(value)];
}

/** What is found under a name, in readings that take names apart, and in those that do not. */
function found(readings: FormReadings, ...path: readonly [string, ...string[]]): readonly string[] {
  const [first, ...rest] = path;
  const flat = [`${first}${rest.map((one) => `[${one}]`).join("")}`, path.join(".")];
  return readings.flatMap((reading) => {
    const [json] = Array.isArray(reading["(json)"]) ? reading["(json)"] : [];
    return [reading, json].flatMap((one) => {
      if (!isObject(one)) return [];
      // In JSON a list or an object is no text, to any reader.
      const texts = one === json ? (value: unknown) => (typeof value === "string" ? [value] : []) : textsIn;
      const nested = path.reduce<unknown>((inner, name) => (isObject(inner) ? inner[name] : undefined), one);
      // No reader takes the names of JSON apart.
      const named = rest.length === 0 || one === json ? [] : flat.map((name) => one[name]);
      return [nested, ...named].flatMap((value) => (value == null ? [] : texts(value)));
    });
  });
}

/** What a rule denies, or the config fixes, in what one reader reads; undefined where there is nothing of the kind. */
function violation(tool: string, readings: FormReadings): string | undefined {
  const denied = [
    ["env is prod", found(readings, "env").includes("prod")],
    ["the account is another one", found(readings, "filter", "account").includes("victim")],
    ["the account of a spread filter is another one", found(readings, "account").includes("victim")],
    ["the method is overridden", ["_method", "(method)"].some((name) => found(readings, name).length > 0)],
    [
      "the charset is given",
      ["_charset_", "utf8"].some(
        (name) => found(readings, name).length > 0 && tool !== "json" && tool !== "loose",
      ),
    ],
  ] as const;
  const first = denied.find(([, is]) => is)?.[0];
  if (first !== undefined || tool !== "fixed") return first;
  const isFixed =
    found(readings, "note").every((one) => one === "own") &&
    found(readings, "filter", "account").every((one) => one === "own");
  return isFixed ? undefined : "a fixed argument is another one";
}

/** The call as it would be sent without any care. */
function naive({ tool, args }: FormCall): Arrived {
  const { body } = args;
  if (tool === "json" || tool === "loose")
    return { tool, query: "", contentType: "application/json", body: Buffer.from(JSON.stringify(body)) };
  const pairs = (value: unknown, name: string): readonly string[] => {
    if (Array.isArray(value)) return value.flatMap((one) => pairs(one, name));
    if (isObject(value)) return Object.entries(value).flatMap(([key, one]) => pairs(one, `${name}[${key}]`));
    return [`${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`];
  };
  const given: JsonObject = isObject(body) ? body : { ...args, ...(isObject(args.more) && args.more) };
  const all = Object.entries(given)
    .flatMap(([name, value]) => pairs(value, name))
    .join("&");
  return body === undefined
    ? { tool, query: all, contentType: "", body: Buffer.alloc(0) }
    : { tool, query: "", contentType: "application/x-www-form-urlencoded", body: Buffer.from(all) };
}

test(`Express, Rack, PHP, Go and Python read no forwarded form as one that a rule denies, for ${RUNS} calls`, {
  timeout: 1_800_000,
}, async () => {
  const seed = Number(process.env.CARDEA_SEED ?? 20_261_127);
  const sent: Arrived[] = [];
  for (let done = 0; done < RUNS; done += 1_000) {
    const numRuns = Math.min(1_000, RUNS - done);
    const work = fc.sample(formCalls, { numRuns, seed: seed + done }).values();
    const worker = async (): Promise<void> => {
      for (const each of work) {
        sent.push(naive(each));
        await post(each);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
  }
  const told: Record<string, object> = {};
  for (const reader of formReaders(folder)) {
    const violations = async (requests: readonly Arrived[]): Promise<readonly string[]> =>
      (await reader.read(requests)).flatMap((readings, at) => {
        const request = requests[at];
        if (request === undefined) return [];
        const { tool, query, body } = request;
        const what = violation(tool, readings);
        return what === undefined ? [] : [`${what}: ${tool}?${query} ${body.toString()}`];
      });
    const hostile = (await violations(sent)).length;
    told[reader.name] = { seed, sent: sent.length, hostile, arrived: arrived.length };
    expect({ seed, reader: reader.name, read: (await violations(arrived)).slice(0, 5) }).toEqual({
      seed,
      reader: reader.name,
      read: [],
    });
    // Calls that all readers read alike would prove nothing.
    expect(hostile).toBeGreaterThan(RUNS / 20);
  }
  console.info(JSON.stringify(told));
  expect(sent).toHaveLength(RUNS);
  expect(arrived.length).toBeGreaterThan(RUNS / 20);
  expect(new Set(arrived.map(({ tool }) => tool)).size).toBe(8);
});
