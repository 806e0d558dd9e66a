/** Executes operator actions, logs each, and tells the features. */

import type { Config, ConfiguredServer } from "../../config/config.js";
import type { AdminCaller } from "../../core/admin-page.js";
import type { OperatorAction, OwnOperatorAction } from "../../core/feature.js";
import type { EmitEvent } from "../../core/gateway-events.js";
import { shortText } from "../../core/short-text.js";
import type { LegacyEdge } from "../../downstream/legacy/edge.js";
import { type LiveConfig, OPERATOR_CLIENT } from "../../gateway/live-config.js";
import type { Telemetry } from "../../gateway/parts.js";
import { type ActionName, type ActionOutcome, type AdminActions, OPERATOR_ACTIONS } from "./actions.js";
import { operatorOf } from "./caller.js";

interface LiveActionsOptions {
  readonly liveConfig: LiveConfig;
  readonly legacy: Pick<LegacyEdge, "endSession">;
  readonly telemetry: Pick<Telemetry, "logger" | "liveCalls">;
  readonly emit: EmitEvent | undefined;
  /** Those of features. */
  readonly more: readonly OwnOperatorAction[];
}

/** What an action does to its target. */
type Act = (target: string, by: AdminCaller) => ActionOutcome | Promise<ActionOutcome>;

/** A tool that is disabled until the next reload. */
interface DisabledTool {
  readonly server: string;
  readonly glob: string;
}

/** The actions of one process. */
export class LiveActions implements AdminActions {
  readonly kinds: readonly OperatorAction[];
  readonly #options: LiveActionsOptions;
  /** By the names of the actions. */
  readonly #acts: ReadonlyMap<string, Act>;
  /** Keyed by exposed name. */
  #disabled = new Map<string, DisabledTool>();

  constructor(options: LiveActionsOptions) {
    this.#options = options;
    const { legacy, more } = options;
    this.kinds = [...OPERATOR_ACTIONS, ...more];
    const own: Readonly<Record<ActionName, Act>> = {
      restart_server: (name) => this.#restart(name),
      disable_tool: (name) => this.#disable(name),
      enable_tool: (name) => this.#enable(name),
      end_session: (id) => (legacy.endSession(id) ? undefined : "there is no such session"),
      cancel_call: (id) => this.#cancel(id),
    };
    this.#acts = new Map<string, Act>([
      ...Object.entries(own),
      ...more.map(
        (action) => [action.name, (target: string, by: AdminCaller) => action.act(target, by)] as const,
      ),
    ]);
  }

  /** The exposed names of the tools that are disabled. */
  get disabledTools(): readonly string[] {
    return [...this.#disabled.keys()];
  }

  /** A config was loaded: disabled tools are enabled again. */
  reloaded(): void {
    this.#disabled = new Map();
  }

  async act({ name: action }: OperatorAction, target: string, caller: AdminCaller): Promise<ActionOutcome> {
    const { telemetry, emit } = this.#options;
    const by = operatorOf(caller);
    const error = await this.#acts.get(action)?.(target, caller);
    const outcome = error ?? "done";
    telemetry.logger.info({ action, target: shortText(target, 200), outcome, ...by }, "an operator acted");
    const server = action === "restart_server" ? { server: target } : {};
    emit?.({ kind: "admin", ...by, method: action, target, outcome, ...server });
    return error;
  }

  async #restart(name: string): Promise<ActionOutcome> {
    const server = this.#options.liveConfig.pipeline.servers.get(name);
    if (server === undefined) return "there is no such server";
    await server.upstream.restart?.();
    this.#options.telemetry.liveCalls.failures.forget(name);
    const { state, lastError } = server.upstream;
    if (state === "misconfigured") return `it cannot be started: ${lastError}`;
    return state === "backoff"
      ? `it did not come back: ${lastError ?? "the reason is not known"}`
      : undefined;
  }

  #cancel(id: string): ActionOutcome {
    switch (this.#options.telemetry.liveCalls.running.cancel(Number(id))) {
      case "cancelled":
        return undefined;
      case "waiting":
        return "no server works on this call at the moment";
      case "unknown":
        return "no such call is running";
    }
  }

  async #disable(name: string): Promise<ActionOutcome> {
    if (this.#disabled.has(name)) return undefined;
    const { liveConfig } = this.#options;
    const { catalog } = liveConfig.pipeline;
    // The server that has it may be starting.
    await catalog.prepare(OPERATOR_CLIENT, [{ kind: "tools", name }]);
    const route = catalog.unfilteredView(OPERATOR_CLIENT).find("tools", name);
    if (route === undefined || route.upstream === "") return "there is no such tool";
    const tool = { server: route.upstream, glob: globOf(route.target) };
    await liveConfig.replace(
      (config) => withDenied(config, tool.server, (deny) => [...deny, tool.glob]),
      () => void this.#disabled.set(name, tool),
    );
    return undefined;
  }

  async #enable(name: string): Promise<ActionOutcome> {
    const tool = this.#disabled.get(name);
    if (tool === undefined) return "this tool is not disabled";
    const { server, glob } = tool;
    await this.#options.liveConfig.replace(
      // A concurrent reload has enabled it already.
      (config) =>
        this.#disabled.get(name) === tool
          ? withDenied(config, server, (deny) => deny.toSpliced(deny.lastIndexOf(glob), 1))
          : config,
      () => void this.#disabled.delete(name),
    );
    return undefined;
  }
}

/** A glob for one name. Special characters of globs match any one character: names rarely contain them. */
const globOf = (name: string): string => name.replace(/[*?{}[\]\\,!]/g, "?");

function withDenied(
  config: Config,
  server: string,
  change: (deny: readonly string[]) => readonly string[],
): Config {
  const servers = config.servers.map(
    (each): ConfiguredServer =>
      each.name === server ? { ...each, tools: { ...each.tools, deny: change(each.tools.deny) } } : each,
  );
  return { ...config, servers };
}
