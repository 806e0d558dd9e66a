/** Whether the gateway can do its work, and whether the servers it cannot do without are there. */
import { GatewayError } from "../core/errors.js";
import type { ServerRuntime } from "../gateway/server-runtime.js";

type Servers = ReadonlyMap<string, Pick<ServerRuntime, "config" | "upstream" | "breaker">>;

export interface ReadinessInput {
  readonly draining: boolean;
  readonly servers: Servers;
  /** Why the newest config was refused; empty when it was not. */
  readonly reloadErrors: readonly string[];
  /** Strangers may ask too. */
  readonly redact: (text: string) => string;
}

/**
 * What `/readyz` says, to strangers too: which server is away, and not what it said last, which is for the operator's log
 * and status page. A refused config is told, but the old one serves as well as before; and so is a server whose
 * calls are paused, which is no reason to send hosts elsewhere.
 */
export function readiness({ draining, servers, reloadErrors, redact }: ReadinessInput) {
  const missing = [...servers.values()].filter(
    ({ config, upstream }) => config.required && upstream.state !== "ready",
  );
  const reasons = [
    ...(draining ? ["the gateway is stopping"] : []),
    ...missing.map(({ config, upstream }) => `required server ${config.name}: ${upstream.state}`),
  ];
  const paused = [...servers.values()].filter(({ breaker }) => breaker.state === "open");
  const degraded = [
    ...reloadErrors.map((reason) => `the newest config was refused: ${reason}`),
    ...paused.map(({ config }) => `server ${config.name} failed too often; its calls are paused`),
  ];
  return { ready: reasons.length === 0, reasons: [...reasons, ...degraded].map(redact) };
}

/** A required server that fails at once gets a few more attempts before it counts as missing, in ms. */
const GRACE_MS = 5_000;

/** Resolves with the reason when a required server that was never met is given up; else never. */
export function requiredServers(servers: Servers): Promise<GatewayError> {
  const required = [...servers.values()].filter(({ config }) => config.required);
  return Promise.race([...required.map(requiredServerFailure), new Promise<never>(() => {})]);
}

function requiredServerFailure({
  config,
  upstream,
}: Pick<ServerRuntime, "config" | "upstream">): Promise<GatewayError> {
  return new Promise((resolve) => {
    if (upstream.facts !== undefined) return;
    let timer = setTimeout(fail, config.connectTimeoutMs + GRACE_MS);
    let failed = false;
    const unwatch = upstream.watch({
      ready: end,
      unavailable() {
        if (failed) return;
        failed = true;
        clearTimeout(timer);
        timer = setTimeout(fail, GRACE_MS);
      },
      listChanged() {},
      resourceUpdated() {},
    });
    function end(): void {
      clearTimeout(timer);
      unwatch();
    }
    function fail(): void {
      end();
      const why = upstream.lastError ?? "it does not answer";
      resolve(
        new GatewayError(
          "upstream_unavailable",
          "upstream",
          `required server ${config.name} is not there: ${why}`,
          {
            server: config.name,
          },
        ),
      );
    }
  });
}
