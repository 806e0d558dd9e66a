/** The layers of a call and of each server, outermost first, and the observers of a call, for configs with each of the optional parts. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { readConfig } from "../../src/config/read.js";
import type { Handler, Middleware, Observer } from "../../src/core/call.js";
import { SILENT } from "../../src/core/logger.js";
import type { SessionRecords } from "../../src/core/replicas.js";
import { createGateway } from "../../src/gateway/gateway.js";
import type { GatewayOptions } from "../../src/gateway/parts.js";
import { CHANNELS, openedFeatures, SECTIONS } from "../support/features.js";

/** A composed handler, with the names of its layers; `innermost` is what they wrap. */
interface Stack {
  readonly layers: readonly string[];
  readonly innermost: Handler;
}

/** What was composed since the last `clear`, without what became a part of something else. */
const stacks = new Map<Handler, Stack>();
const observed: string[] = [];

vi.mock("../../src/core/call.js", async (original) => {
  const real = await original<typeof import("../../src/core/call.js")>();
  return {
    ...real,
    compose(middleware: readonly Middleware[], innermost: Handler): Handler {
      const layers: string[] = [];
      const outermost = middleware.reduceRight((next, wrap) => {
        const handler = wrap(next);
        if (handler === next) return next;
        const part = stacks.get(handler);
        stacks.delete(handler);
        layers.unshift(...(part?.innermost === next ? part.layers : [handler.name]));
        return handler;
      }, innermost);
      stacks.set(outermost, { layers, innermost });
      return outermost;
    },
    observerMiddleware(observers: readonly Observer[]): Middleware {
      observed.push(observers.map(({ name }) => name).join(", "));
      return real.observerMiddleware(observers);
    },
  };
});

afterEach(() => {
  stacks.clear();
  observed.splice(0);
});

/** The stacks since the last time, by what they wrap; servers with the same layers are one line. */
function stacksAsText(): string {
  const lines = [...stacks.values()].map(
    ({ layers, innermost }) => `${WRAPPED[innermost.name] ?? innermost.name}: ${layers.join(" > ")}`,
  );
  const text = [...new Set(lines)].sort().join("\n");
  stacks.clear();
  return `${text}\nobservers of calls: ${observed.splice(0).join("\n")}\n`;
}

/** What the innermost handlers of stacks do. */
const WRAPPED: Readonly<Record<string, string>> = {
  router: "call",
  call: "call at a server",
  findTools: "find_tools",
  readStates: "cardea://servers",
  limits: "limited answer of the gateway itself",
  "": "list at one server",
};

/** Nothing starts: a server runs when a call needs it. */
const PROCESS = { command: "never-started", start: "demand" };
const ADDRESS = { type: "http", url: "http://127.0.0.1:9/mcp", start: "demand" };
const API = { type: "openapi", url: "http://127.0.0.1:9/api.json", start: "demand" };
const SERVERS = { process: PROCESS, address: ADDRESS };

const SEARCH = { tools: { exposure: "search" } };
const RULES = { policy: { rules: [{ name: "no", tools: ["*__rm"], effect: "deny" }] } };
const HIDING = { policy: { rules: [{ name: "hide", tools: ["*__rm"], effect: "hide" }] } };
const LIMITS = { limits: [{ name: "slow", tools: ["*"], rate: "10/min" }] };
const APPROVALS = { policy: { rules: [{ name: "ask", tools: ["*__rm"], effect: "approve" }] } };
const CHECKS = { checks: { arguments: true, results: true } };
const ARGUMENTS = {
  overrides: { echo: { arguments: { fixed: { lang: "en" } } } },
  arguments: { parseJsonText: true },
};
const SIGN_IN = { auth: { type: "oauth" } };

interface Situation {
  readonly file: object;
  /** How many servers are misconfigured. Default: 0 */
  readonly problems?: number;
  readonly options?: Partial<GatewayOptions>;
  /** Whether credentials are kept. */
  readonly hasState?: boolean;
  readonly isTraced?: boolean;
  readonly audit?: "best effort" | "required";
}

const RECORDS = { write: () => undefined, mayAdopt: () => false, close: async () => {} };
const KEPT_SESSIONS = { sessionFiles: RECORDS as unknown as SessionRecords & typeof RECORDS };

const SITUATIONS: Readonly<Record<string, Situation>> = {
  "an empty config": { file: { mcpServers: {} } },
  "three kinds of servers": { file: { mcpServers: { ...SERVERS, api: API } } },
  "tool search": { file: { mcpServers: SERVERS, ...SEARCH } },
  "policy rules": { file: { mcpServers: SERVERS, ...RULES } },
  "a rule that hides": { file: { mcpServers: SERVERS, ...HIDING } },
  limits: { file: { mcpServers: SERVERS, ...LIMITS } },
  approvals: { file: { mcpServers: SERVERS, ...APPROVALS } },
  tracing: { file: { mcpServers: SERVERS }, isTraced: true },
  audit: { file: { mcpServers: SERVERS }, audit: "best effort" },
  "required audit": { file: { mcpServers: SERVERS }, audit: "required" },
  "a server with sign-in": {
    file: { mcpServers: { address: { ...ADDRESS, ...SIGN_IN } } },
    hasState: true,
  },
  "sessions that outlive their process": { file: { mcpServers: SERVERS }, options: KEPT_SESSIONS },
  "schema checks": { file: { mcpServers: { process: { ...PROCESS, ...CHECKS } } } },
  "configured arguments": { file: { mcpServers: { process: { ...PROCESS, ...ARGUMENTS } } } },
  "calls in the roots of hosts": { file: { mcpServers: { process: { ...PROCESS, cwd: "roots" } } } },
  "forwarded baggage": { file: { mcpServers: SERVERS, telemetry: { baggage: "forward" } } },
  everything: {
    file: {
      mcpServers: {
        process: { ...PROCESS, ...CHECKS, ...ARGUMENTS, cwd: "roots" },
        address: { ...ADDRESS, ...CHECKS, ...SIGN_IN },
        api: API,
        wrong: { type: "http", url: "${NOT_SET}" },
      },
      ...{ ...SEARCH, ...LIMITS, policy: { rules: [...RULES.policy.rules, ...HIDING.policy.rules] } },
    },
    ...{ problems: 1, isTraced: true, audit: "required", hasState: true, options: KEPT_SESSIONS },
  },
};

const OPTIONS = { logger: SILENT, version: "0.0.0-test", redact: (text: string) => text };

/** Builds the gateway of a situation, and closes it. */
async function build({
  file,
  problems = 0,
  options,
  isTraced = false,
  audit: wanted,
  hasState = false,
}: Situation): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "cardea-stacks-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const log = join(folder, "audit.jsonl");
  const audited = wanted !== undefined && { audit: { file: log, required: wanted === "required" } };
  const traced = isTraced && { telemetry: { otlp: { endpoint: "http://127.0.0.1:9" } } };
  const listen = { http: { port: 0 }, admin: { port: 0 } };
  const text = JSON.stringify({ listen, ...file, ...audited, ...traced });
  const read = readConfig(text, "cardea.json", { env: {}, sections: SECTIONS });
  if (!read.ok || read.problems.length > problems) throw new Error(JSON.stringify(read.problems));
  const { config } = read;
  const features = await openedFeatures(config, { stateFolder: hasState ? folder : undefined });
  const gateway = createGateway(config, { ...OPTIONS, ...options, features, channels: CHANNELS });
  await gateway.stop({ immediate: true });
}

test("the stacks of calls and servers are those of stacks.txt", async () => {
  const pages: string[] = [];
  for (const [name, situation] of Object.entries(SITUATIONS)) {
    await build(situation);
    pages.push(`# ${name}\n\n${stacksAsText()}`);
  }
  await expect(pages.join("\n")).toMatchFileSnapshot("stacks.txt");
});
