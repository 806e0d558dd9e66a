/** Surroundings for a command in a test: streams that remember, signals at will, and a gateway of one's own. */
import { PassThrough, Readable } from "node:stream";
import type { CommandContext, Log } from "../../src/cli/command-context.js";
import type { Config } from "../../src/config/config.js";
import type { Gateway } from "../../src/gateway/gateway.js";
import { FEATURES } from "../support/features.js";

export interface FakeShellOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly stdin?: string;
  /** What is typed at its terminal, a line for each question. Default: it has none. */
  readonly typed?: readonly string[];
  readonly gateway?: Partial<Gateway>;
  readonly examine?: CommandContext["probe"];
  /** The width of its terminal, which has no colours. Default: stdout is no terminal. */
  readonly columns?: number;
  readonly findings?: CommandContext["findings"];
}

export interface FakeShell extends CommandContext {
  readonly out: () => string;
  /** The lines of the log and of stderr. */
  readonly said: readonly string[];
  readonly secrets: readonly string[];
  /** How long (ms) it would have waited each time. */
  readonly waits: readonly number[];
  /** The configs that gateways were made of. */
  readonly configs: readonly Config[];
  /** What was to be done each time about processes that an earlier gateway left behind. */
  readonly orphans: readonly ("name" | "end" | undefined)[];
  /** `start`, `stop`, `stop at once`, `reload …` in the order they happened. */
  readonly events: string[];
  signal(signal: NodeJS.Signals): void;
}

const never = new Promise<never>(() => {});

/** A terminal at which each line is typed when a question is asked: what comes before is lost with its reader. */
function terminal(lines: readonly string[], stderr: PassThrough): PassThrough {
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => stdin });
  const left = [...lines];
  stderr.on("data", (chunk) => {
    if (!/[\]:] $/.test(String(chunk))) return;
    const line = left.shift();
    if (line !== undefined) stdin.write(`${line}\r`);
  });
  return stdin;
}

export function fakeShell(options: FakeShellOptions = {}): FakeShell {
  const stdout = Object.assign(new PassThrough(), { columns: options.columns });
  const stderr = Object.assign(new PassThrough(), { isTTY: options.typed !== undefined });
  const written: string[] = [];
  const said: string[] = [];
  const secrets: string[] = [];
  const waits: number[] = [];
  const configs: Config[] = [];
  const orphans: ("name" | "end" | undefined)[] = [];
  const events: string[] = [];
  stdout.on("data", (chunk) => written.push(String(chunk)));
  stderr.on("data", (chunk) => said.push(...String(chunk).trimEnd().split("\n")));

  const heard: NodeJS.Signals[] = [];
  const waiting: ((signal: NodeJS.Signals) => void)[] = [];
  const hangups = new Set<() => void>();
  const signal = (name: NodeJS.Signals): void => {
    if (name === "SIGHUP") for (const reload of hangups) reload();
    else {
      const next = waiting.shift();
      if (next === undefined) heard.push(name);
      else next(name);
    }
  };

  const log: Log = {
    error: (_, sentence) => said.push(`error: ${sentence}`),
    warn: (_, sentence) => said.push(`warn: ${sentence}`),
    info: (_, sentence) => said.push(`info: ${sentence}`),
    debug: () => {},
    addSecrets: (more) => secrets.push(...more),
    redact: (text) => secrets.reduce((left, secret) => left.replaceAll(secret, "[redacted]"), text),
  };

  const gateway: Gateway = {
    failed: never,
    hasCutOff: () => false,
    isUnused: () => true,
    starting: () => [],
    start: async () => {
      events.push("start");
      return { url: "http://127.0.0.1:1/mcp", adminUrl: "http://127.0.0.1:2", starting: [] };
    },
    stop: async ({ immediate = false } = {}) => {
      events.push(immediate ? "stop at once" : "stop");
    },
    stdio: () => never,
    lists: async () => [],
    page: async () => ({ endpoints: [], tools: [], savings: [] }),
    missing: async () => [],
    ownLists: async () => new Map(),
    call: async () => ({ kind: "error", error: { code: -32602, message: "unknown tool" } }),
    explain: async ({ name }) => ({ unknown: `there is no tool ${name}` }),
    reload: async (config) => {
      events.push(`reload ${config.servers.map(({ name }) => name).join(" ")}`);
    },
    foundIneffective: () => {},
    reloadFailed: (reasons) => {
      events.push(`refused ${reasons.length}`);
    },
    ...options.gateway,
  };

  return {
    env: options.env ?? {},
    features: FEATURES,
    cwd: options.cwd ?? "/nowhere",
    stdin:
      options.typed === undefined ? Readable.from([options.stdin ?? ""]) : terminal(options.typed, stderr),
    stdout,
    stderr,
    signals: {
      next: () =>
        new Promise((resolve) => {
          const first = heard.shift();
          if (first === undefined) waiting.push(resolve);
          else resolve(first);
        }),
      onHangup: (reload) => {
        hangups.add(reload);
        return () => hangups.delete(reload);
      },
    },
    wait: async (ms) => void waits.push(ms),
    openLog: async () => log,
    createGateway: async (config, _logger, leftBehind) => {
      configs.push(config);
      orphans.push(leftBehind);
      return gateway;
    },
    useStateFolder: () => {},
    announceGateway: async () => async () => {},
    openServing: async () => {
      throw new Error("no test of a command starts several processes");
    },
    probe:
      options.examine ??
      (async () => ({ stderr: [], nonProtocolOutput: [], error: new Error("not examined") })),
    openStore: async () => undefined,
    findings: options.findings ?? (async () => ({})),
    out: () => written.join(""),
    said,
    secrets,
    waits,
    configs,
    orphans,
    events,
    signal,
  };
}
