/** The gateway whose outside is frozen: a server of each cheap kind, and rules, limits, keys, an audit log. */

import { createHash } from "node:crypto";
import { onTestFinished } from "vitest";
import { readConfig } from "../../src/config/read.js";
import { SILENT } from "../../src/core/logger.js";
import { createGateway, type Gateway } from "../../src/gateway/gateway.js";
import { documentOf, folderWith, startApi } from "../support/api.js";
import { CHANNELS, openedFeatures, SECTIONS } from "../support/features.js";
import { listening } from "../support/gateway.js";
import { startUpstream, UPSTREAMS } from "../support/scripted/upstreams.js";

const hashOf = (secret: string): string => `sha256:${createHash("sha256").update(secret).digest("hex")}`;
const OPERATOR_TOKEN = "token-of-the-operator-of-the-golden-gateway";
const HOST_KEY = "key-of-ada-at-the-golden-gateway";

export const OPERATOR = { authorization: `Bearer ${OPERATOR_TOKEN}` } as const;
export const ADA = { authorization: `Bearer ${HOST_KEY}` } as const;

/** Of the scripted tools, what the pages show. */
const TOOLS = { tools: { allow: ["echo", "form", "refuse_with", "answer_this"] } };

const PETS = {
  "/pets/{id}": {
    get: {
      operationId: "get_pet",
      summary: "Reads a pet.",
      parameters: [{ name: "id", in: "path", required: true, schema: { type: "string" } }],
      responses: {
        200: { description: "A pet.", content: { "application/json": { schema: { type: "object" } } } },
      },
    },
  },
};

interface WorldOptions {
  readonly servers?: object;
  readonly limits?: readonly object[];
}

export interface World {
  readonly gateway: Gateway;
  /** The MCP endpoint. */
  readonly url: string;
  readonly adminUrl: string;
}

/** Opens it with more servers, and more limits. */
export async function openWorld({ servers = {}, limits = [] }: WorldOptions = {}): Promise<World> {
  const api = await startApi(() => ({ headers: { "content-type": "application/json" }, body: '{"id":"1"}' }));
  const folder = folderWith({ "api.json": documentOf(PETS) });
  const scripted: [string, object][] = [];
  for (const kind of UPSTREAMS.filter(({ transport }) => transport !== "sse")) {
    const upstream = await startUpstream(kind);
    onTestFinished(() => upstream.stop());
    scripted.push([kind.key, { ...upstream.entry, ...TOOLS }]);
  }
  const file = {
    listen: {
      http: { port: 0, maxBodyBytes: 65_536 },
      admin: { port: 0, token: OPERATOR_TOKEN, showArguments: true },
    },
    auth: { keys: [{ id: "ada", hash: hashOf(HOST_KEY), groups: ["staff"] }] },
    mcpServers: {
      ...Object.fromEntries(scripted),
      pets: { type: "openapi", spec: `${folder}/api.json`, baseUrl: api.url },
      ...servers,
      wrong: { type: "http", url: "${NOT_SET_ANYWHERE}" },
    },
    policy: {
      rules: [
        { name: "no-secrets", tools: ["legacy-stdio__echo"], effect: "deny", message: "not for hosts" },
        { name: "ask-first", tools: ["modern-stdio__echo"], effect: "approve" },
        { name: "hidden", tools: ["legacy-http__form"], effect: "hide" },
      ],
    },
    limits: [{ name: "rarely", tools: ["modern-http__echo"], rate: "1/h", per: "principal" }, ...limits],
    audit: { file: `${folder}/audit.jsonl` },
  };
  const read = readConfig(JSON.stringify(file, null, 2), "cardea.json", { env: {}, sections: SECTIONS });
  if (!read.ok) throw new Error(JSON.stringify(read.problems));
  const { config } = read;
  const options = { logger: SILENT, version: "0.0.0-test", redact: (text: string) => text };
  const opened = await openedFeatures(config, { ...options, stateFolder: folder, servesHosts: true });
  // The pages are those of a gateway that keeps no lists.
  const features = opened.filter(({ name }) => name !== "kept-lists");
  const gateway = createGateway(config, { ...options, features, channels: CHANNELS });
  const { url, adminUrl } = await listening(gateway);
  onTestFinished(() => gateway.stop({ immediate: true }));
  await gateway.lists("tools");
  return { gateway, url, adminUrl };
}

/** Members whose values differ from run to run, or from machine to machine. */
const VOLATILE =
  /^(?:at|time|ageMs|stale|state|revisions|seconds|restarts|since|until|startedAt|openedAt|expiresAt|lastHitAt|retryAfterMs|version|node|pid|uptimeSeconds|ageSeconds|idleSeconds|id|handle|client_id|configDigest|digest|traceId|total|queue|policy|upstream|input|p50|p95|instance|requestState|stderr|stderrAt|failingSince|nextTryAt)$/;

/** `value` with the values of volatile members replaced by their types; names and their order stay. */
export function stable(value: unknown): unknown {
  if (Array.isArray(value)) return isSeries(value) ? "<numbers>" : value.map(stable);
  if (typeof value === "string") return stableText(value);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]: [string, unknown]) => [
      name,
      VOLATILE.test(name) && isPlain(member) ? typeIn(member) : stable(member),
    ]),
  );
}

/** Steps of the last hour: how many there are depends on the time. */
const isSeries = (values: readonly unknown[]): boolean =>
  values.length > 100 && values.every((value) => typeof value === "number" || value === null);

const isPlain = (value: unknown): boolean =>
  Array.isArray(value) ? value.every(isPlain) : typeof value !== "object" || value === null;

const typeIn = (value: unknown): string =>
  Array.isArray(value) ? "<array>" : `<${value === null ? "null" : typeof value}>`;

/** A text without ports, folders, waits and the version of Node. */
const stableText = (text: string): string =>
  text
    .replaceAll(/127\.0\.0\.1:(?!9\b)\d+/g, "127.0.0.1:<port>")
    .replaceAll(/\/\S*\/(?:cardea-api|scripted)-\w+/g, "<folder>")
    .replaceAll(/(retryAfterMs\\*":|Retry in )\d+/g, "$1<number>")
    .replaceAll(process.execPath, "<node>")
    .replaceAll(new URL("../..", import.meta.url).pathname.replace(/\/$/, ""), "<repository>");
