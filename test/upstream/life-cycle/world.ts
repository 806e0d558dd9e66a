/** A gateway without listeners, the machines its servers run on, and every call that was made of it. */
import { createSecretKey, randomBytes } from "node:crypto";
import { expect } from "vitest";
import type { Config } from "../../../src/config/config.js";
import { readConfig } from "../../../src/config/read.js";
import { CallIds, type Reply } from "../../../src/core/call.js";
import { ANONYMOUS } from "../../../src/core/client.js";
import { GatewayError, REFUSAL_META } from "../../../src/core/errors.js";
import type { OpenFeature } from "../../../src/core/feature.js";
import { SILENT } from "../../../src/core/logger.js";
import { Stop } from "../../../src/core/stop.js";
import { DrainingServers } from "../../../src/gateway/draining-servers.js";
import { KnownPrincipals } from "../../../src/gateway/known-principals.js";
import { LiveConfig } from "../../../src/gateway/live-config.js";
import { SessionDirectory } from "../../../src/gateway/server-runtime.js";
import { Slots } from "../../../src/gateway/slots.js";
import { Tasks } from "../../../src/routing/tasks.js";
import { LiveCalls } from "../../../src/telemetry/live-calls.js";
import { Metrics } from "../../../src/telemetry/metrics.js";
import { PendingQuestions } from "../../../src/telemetry/pending-questions.js";
import { ParkedCalls } from "../../../src/upstream/legacy/parked-calls.js";
import { SpawnLimiter } from "../../../src/upstream/supervision/spawn-limiter.js";
import { ProcessGroups } from "../../../src/upstream/transport/process-group.js";
import { type JsonObject, objectAt } from "../../../src/wire/json.js";
import { type FakeServer, legacyServer, modernServer } from "../../support/fake-channel.js";

export const NAMES = ["a", "b", "c"] as const;
export const MOODS = ["well", "refuses", "hangs"] as const;
export type Mood = (typeof MOODS)[number];

/** Which servers there are, each in which version: another version is another process. */
export type Versions = ReadonlyMap<string, number>;

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
const REFUSAL = new GatewayError("upstream_unavailable", "upstream", "no such command", { retryable: true });

/** The process of one server in one version, as often as it is started. */
class Machine {
  readonly server: FakeServer;
  mood: Mood = "well";

  constructor(even: boolean) {
    this.server = even ? legacyServer() : modernServer();
    // Longer than the shortest wait before the next process.
    this.server.endsAfterMs = 2_500;
    for (const method of ["initialize", "server/discover"]) {
      const greet = this.server.methods.get(method);
      if (greet === undefined) continue;
      this.server.on(method, async (params, asked) => {
        if (this.mood === "hangs") await pause(40_000);
        return greet(params, asked);
      });
    }
    const list = { resultType: "complete", ttlMs: 0, cacheScope: "public" };
    this.server
      .on("tools/list", { ...list, tools: [{ name: "work", inputSchema: { type: "object" } }] })
      .on("prompts/list", { ...list, prompts: [] })
      .on("resources/list", { ...list, resources: [] })
      .on("resources/templates/list", { ...list, resourceTemplates: [] })
      .on("tools/call", async (params) => {
        await pause(Number((params.arguments as JsonObject).takesMs));
        return {
          resultType: "complete",
          content: [{ type: "text", text: String((params.arguments as JsonObject).mark) }],
        };
      });
  }

  /** The marks of the calls it was asked to carry out, in order. */
  get carriedOut(): readonly unknown[] {
    return this.server.sent("tools/call").map(({ message }) => objectAt(message.params, "arguments")?.mark);
  }

  /** Processes that run. */
  get running() {
    return this.server.channels.filter(({ isGone }) => !isGone);
  }
}

interface Made {
  readonly mark: number;
  readonly stop: Stop;
  answers: number;
  outcome: string | undefined;
}

/** The gateway with its machines, and every call that was made. */
export class World {
  readonly calls: Made[] = [];
  readonly machines = new Map<string, Machine>();
  readonly inEffect: LiveConfig;
  readonly #moods = new Map<string, Mood>();
  /** Resolves, once the gateway has ended all its servers, to how many processes were left at that moment. */
  stopping: Promise<number> | undefined;

  constructor(begin: Versions | Config, openFeatures: readonly OpenFeature[] = []) {
    const metrics = new Metrics({ version: "0", process: false });
    const config = "servers" in begin ? begin : configOf(begin);
    const features = new Slots(openFeatures, metrics);
    features.attach({
      config: () => config,
      pipeline: () => this.inEffect.pipeline,
      toolCalls: (server) => metrics.calls.toolCalls(server),
      url: () => undefined,
      operatorUrl: () => undefined,
      approvalWaited: () => {},
      connectedClients: () => [],
      onClientConnected: () => {},
      messages: undefined,
      ...{ store: undefined, replica: undefined, issuer: undefined },
      answerMs: () => 3_600_000,
      enterQueue: (server) => metrics.enterQueue(server),
    });
    this.inEffect = new LiveConfig(config, {
      identity: { info: { name: "cardea", version: "0" }, instance: "model" },
      callIds: new CallIds(),
      telemetry: {
        logger: SILENT,
        metrics,
        redact: (text) => text,
        pendingQuestions: new PendingQuestions(metrics),
        liveCalls: new LiveCalls(),
        recordSinks: [],
      },
      features,
      processes: {
        groups: new ProcessGroups(),
        requestIds: new CallIds(),
        spawnLimiter: new SpawnLimiter(),
        draining: new DrainingServers(SILENT),
        openChannel: ({ transport }) => {
          const which = transport.kind === "stdio" ? transport.command : "";
          return async (way, server, signal) => {
            const machine = this.machine(which);
            if (machine.mood === "refuses") throw REFUSAL;
            return machine.server.openChannel(way, server, signal);
          };
        },
      },
      sessions: {
        principals: new KnownPrincipals(),
        directory: new SessionDirectory(),
        parkedCalls: new ParkedCalls(),
      },
      sealed: {
        state: (next) => next,
        answerMs: () => 3_600_000,
        tasks: new Tasks(createSecretKey(randomBytes(32))),
      },
    });
  }

  /** By its command, such as `a-1`. */
  machine(command: string): Machine {
    const known = this.machines.get(command) ?? new Machine(command.charCodeAt(0) % 2 === 0);
    this.machines.set(command, known);
    known.mood = this.#moods.get(command[0] ?? "") ?? "well";
    return known;
  }

  setMood(name: string, mood: Mood): void {
    this.#moods.set(name, mood);
    for (const [command, machine] of this.machines) if (command.startsWith(name)) machine.mood = mood;
  }

  call(name: string, takesMs: number): Made {
    const stop = new Stop();
    const made: Made = { mark: this.calls.length, stop, answers: 0, outcome: undefined };
    this.calls.push(made);
    const call = {
      id: 1,
      method: "tools/call",
      params: { name: `${name}__work`, arguments: { takesMs, mark: made.mark } },
      client: { principal: ANONYMOUS, affinity: "host", session: false, endpoint: "", capabilities: {} },
      signal: stop.signal,
      notify: () => {},
    };
    void this.inEffect.pipeline.handle(call).then((reply) => {
      made.answers += 1;
      made.outcome = outcomeOf(reply, made.mark);
    });
    return made;
  }

  stop(): void {
    this.stopping = this.inEffect
      .close()
      .then(() => [...this.machines.values()].reduce((sum, { running }) => sum + running.length, 0));
  }

  /** What must be true at every moment. */
  check(): void {
    for (const [command, machine] of this.machines) {
      expect(machine.running.length, `processes of ${command}`).toBeLessThanOrEqual(1);
    }
    for (const made of this.calls) expect(made.answers).toBeLessThanOrEqual(1);
  }
}

function outcomeOf(reply: Reply, mark: number): string {
  if (reply.kind === "error") return reply.refusal ?? `error ${reply.error.code}`;
  if (reply.kind !== "result") return reply.kind;
  const { content, _meta } = reply.result.object;
  const refusal = (_meta as JsonObject | undefined)?.[REFUSAL_META] as JsonObject | undefined;
  if (refusal !== undefined) return String(refusal.code);
  const [{ text } = {}] = content as readonly { readonly text?: string }[];
  return text === String(mark) ? "ok" : `the answer to ${text}`;
}

const configs = new Map<string, Config>();
export function configOf(versions: Versions): Config {
  const servers = [...versions].map(([name, version]) => [
    name,
    { command: `${name}-${version}`, timeout: "60s" },
  ]);
  const text = JSON.stringify({ mcpServers: Object.fromEntries(servers) });
  const known = configs.get(text);
  if (known !== undefined) return known;
  const read = readConfig(text, "cardea.json", { env: {}, cwd: "/" });
  if (!read.ok) throw new Error(read.problems[0]?.message);
  configs.set(text, read.config);
  return read.config;
}
