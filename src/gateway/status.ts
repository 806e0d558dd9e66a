/** Readiness and status of the gateway: listeners and required servers. */
import { isMisconfigured, signsInEachPerson } from "../config/config.js";
import { GatewayError } from "../core/errors.js";
import type { Problem } from "../core/feature.js";
import { DRAINING_REASON, type Readiness } from "../core/gateway-api.js";
import type { StopSignal } from "../core/stop.js";
import type { UpstreamState } from "../core/upstream.js";
import type { ServerRuntime } from "./server-runtime.js";

type Servers = ReadonlyMap<string, Pick<ServerRuntime, "config" | "upstream" | "breaker">>;

/** A gateway that was probed within this time (ms) counts as being behind a load balancer. */
const PROBE_WINDOW_MS = 60_000;

/** The state of the gateway for probes and status pages. */
export class GatewayStatus {
  /** Milliseconds since 1970. */
  readonly startedAt = Date.now();
  /** The URL for hosts; undefined until the listener is bound. */
  url: string | undefined;
  /** That for operators. */
  operatorUrl: string | undefined;
  isDraining = false;
  /** Why the newest config was refused; empty otherwise. */
  reloadErrors: readonly string[] = [];
  /** The parts of the live config that match nothing, a sentence each. */
  ineffective: readonly string[] = [];
  #lastProbeAt = Number.NEGATIVE_INFINITY;
  readonly #servers: () => Servers;
  readonly #starting: () => readonly string[];
  readonly #redact: (text: string) => string;
  readonly #problems: () => readonly Problem[];

  /**
   * `servers` returns those of the live config, `starting` the names of those that are still starting; `redact` removes
   * secrets from public texts; `problems` are those of features.
   */
  constructor(
    servers: () => Servers,
    redact: (text: string) => string,
    starting: () => readonly string[] = () => [],
    problems: () => readonly Problem[] = () => [],
  ) {
    this.#servers = servers;
    this.#starting = starting;
    this.#redact = redact;
    this.#problems = problems;
  }

  /**
   * Not ready: while the gateway drains, a required server is not connected, or a feature has a problem that blocks.
   * A refused config, an open circuit breaker, a server that needs the sign-in of all or is misconfigured, and other problems of features
   * are listed but do not affect readiness. The reasons never quote a server's last error, which is for the log and the status
   * page.
   */
  readiness(): Readiness {
    const servers = [...this.#servers().values()];
    const missing = servers.filter(({ config, upstream }) => config.required && !isUsable(upstream.state));
    const closed = servers.filter(
      ({ config, upstream }) => upstream.state === "needs_sign_in" && !signsInEachPerson(config),
    );
    const misconfigured = servers.filter(({ config }) => isMisconfigured(config) && !config.required);
    const open = servers.filter(({ breaker }) => breaker.state === "open");
    const problems = this.#problems();
    const reasons = [
      ...problems.filter(({ blocks }) => blocks).map(({ text }) => text),
      ...(this.isDraining ? [DRAINING_REASON] : []),
      ...missing.map(({ config, upstream }) => `required server ${config.name}: ${upstream.state}`),
    ];
    const degraded = [
      ...problems.filter(({ blocks }) => !blocks).map(({ text }) => text),
      ...this.reloadErrors.map((reason) => `the newest config was refused: ${reason}`),
      ...open.map(({ config }) => `server ${config.name} failed too often; circuit breaker open`),
      ...closed.map(({ config }) => `server ${config.name}: needs_sign_in`),
      ...misconfigured.map(({ config }) => `server ${config.name}: misconfigured`),
    ];
    const { starting } = this;
    return {
      ready: reasons.length === 0,
      reasons: [...reasons, ...degraded].map(this.#redact),
      ...(starting.length > 0 && { starting }),
    };
  }

  /** The servers that are still starting, by name. */
  get starting(): readonly string[] {
    return this.#starting().map(this.#redact);
  }

  /** Answers a probe of `/readyz`. */
  probe(): Readiness {
    this.#lastProbeAt = performance.now();
    return this.readiness();
  }

  /** Whether a load balancer or a supervisor polls `/readyz`. */
  get isProbed(): boolean {
    return performance.now() - this.#lastProbeAt < PROBE_WINDOW_MS;
  }
}

/** The next call starts an idle server, and a server that needs a sign-in can serve after it. */
const isUsable = (state: UpstreamState): boolean =>
  state === "ready" || state === "idle" || state === "needs_sign_in";

/** How long (ms) a required server has for further attempts after its first one failed. */
const GRACE_MS = 5_000;

/**
 * Resolves with the reason when a required server could not be connected after the start; otherwise never. Observes the
 * servers until `signal` aborts.
 */
export function requiredServers(servers: Servers, signal?: StopSignal): Promise<GatewayError> {
  const required = [...servers.values()].filter(({ config }) => config.required);
  return Promise.race([
    ...required.map((server) => requiredServerFailure(server, signal)),
    new Promise<never>(() => {}),
  ]);
}

function requiredServerFailure(
  { config, upstream }: Pick<ServerRuntime, "config" | "upstream">,
  signal: StopSignal | undefined,
): Promise<GatewayError> {
  return new Promise((resolve) => {
    if (upstream.wasConnected || signal?.aborted === true) return;
    let timer = setTimeout(fail, (config.firstConnectTimeoutMs ?? config.connectTimeoutMs) + GRACE_MS);
    let failed = false;
    const unwatch = upstream.watch({
      ready: end,
      unavailable({ code }) {
        if (code === "sign_in_required") end();
        if (failed || code === "sign_in_required") return;
        failed = true;
        clearTimeout(timer);
        timer = setTimeout(fail, GRACE_MS);
      },
    });
    signal?.addEventListener("abort", end, { once: true });
    function end(): void {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      unwatch();
    }
    function fail(): void {
      end();
      const why = upstream.lastError ?? "it does not answer";
      resolve(
        new GatewayError(
          "upstream_unavailable",
          "upstream",
          `required server ${config.name} is not connected: ${why}`,
          {
            server: config.name,
          },
        ),
      );
    }
  });
}
