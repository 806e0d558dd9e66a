/** Starts of servers with a `sandbox`: the command runs in one, or not at all, or without one where the config allows that. */
import { existsSync, realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import { LRUCache } from "lru-cache";
import { GatewayError } from "../../core/errors.js";
import type { Logger } from "../../core/logger.js";
import type { ProcessStart, StartLayer } from "../../core/process-start.js";
import { bubblewrapArgs, PRIVATE_FOLDERS } from "./bubblewrap.js";
import { cacheVariables, fetches, ownFolder } from "./own-folder.js";
import { isWithin, placesOf } from "./places.js";
import { SANDBOX_EXEC, seatbeltProfile } from "./seatbelt.js";
import { type SandboxSettings, settingsOf } from "./section.js";
import type { Trial } from "./trial.js";

/** How the process of a server runs that was started last. */
export interface Fencing {
  readonly isFenced: boolean;
  /** Why it has no sandbox although its entry asks for one. */
  readonly obstacle?: string;
}

/** What the layer knows of the gateway. */
export interface SandboxContext {
  readonly home: string;
  readonly stateFolder: string | undefined;
  /** The files of the config in effect. */
  readonly configFiles: () => readonly string[];
  readonly trial: Trial;
  readonly log: Pick<Logger, "warn">;
}

/** Servers whose last start is known. */
const MAX_SERVERS = 1_000;

/** What programs read below `/run`: the addresses of name servers, and on NixOS the system itself. */
const READ_IN_RUN = ["/etc/resolv.conf", "/run/current-system", "/run/opengl-driver", "/run/systemd/resolve"];

/** The layer, and what it knows of the servers that it has started. */
export class SandboxedStarts implements StartLayer {
  readonly #context: SandboxContext;
  readonly #fencing = new LRUCache<string, Fencing>({ max: MAX_SERVERS });

  constructor(context: SandboxContext) {
    this.#context = context;
  }

  /** Nothing is fetched in it but into a cache of its own. */
  announce(start: ProcessStart): ProcessStart {
    return settingsOf(start.features) === undefined ? start : { ...start, isConfined: true };
  }

  async prepare(start: ProcessStart): Promise<ProcessStart> {
    const settings = settingsOf(start.features);
    if (settings === undefined) {
      this.#fencing.set(start.name, { isFenced: false });
      return start;
    }
    const found = await this.#context.trial.found(settings.network);
    if ("obstacle" in found) return this.#without(start, settings, found.obstacle);
    const fenced =
      found.program === SANDBOX_EXEC
        ? this.#onMac(start, settings)
        : this.#onLinux(start, settings, found.program);
    this.#fencing.set(start.name, { isFenced: true });
    return fenced;
  }

  reasonOf({ features, command }: ProcessStart, output: string): string | undefined {
    const settings = settingsOf(features);
    if (settings === undefined) return undefined;
    const [, missing] = /^bwrap: execvp ([^\n]*): No such file or directory$/m.exec(output) ?? [];
    if (missing !== undefined)
      return `command not found in its sandbox: ${command} (${missing} is not there, or hidden; a folder below /tmp must be in sandbox.write)`;
    const [said] = /^bwrap: .*$/m.exec(output) ?? [];
    if (said !== undefined) return `its sandbox could not be made (${said})`;
    if (/\b(?:EROFS|Read-only file system)\b/i.test(output))
      return "it wrote where its sandbox is read-only: sandbox.write names what it may write";
    if (
      !settings.network &&
      /\b(?:EAI_AGAIN|ENETUNREACH|Network is unreachable|name resolution)\b/i.test(output)
    )
      return 'it has no network in its sandbox: "sandbox": { "network": true } gives it one';
    return undefined;
  }

  /** Of the last start; undefined for a server that this process has not started. */
  fencingOf(server: string): Fencing | undefined {
    return this.#fencing.get(server);
  }

  /** Servers that run without the sandbox that their entries ask for. */
  unfenced(): readonly (readonly [server: string, obstacle: string])[] {
    return [...this.#fencing.entries()].flatMap(([server, { obstacle }]) =>
      obstacle === undefined ? [] : [[server, obstacle] as const],
    );
  }

  #without(start: ProcessStart, { required }: SandboxSettings, obstacle: string): ProcessStart {
    const { name } = start;
    if (required)
      throw new GatewayError(
        "upstream_unavailable",
        "gateway",
        `${name} is not started: it cannot have its sandbox: ${obstacle}. With "required": false in its sandbox it starts without one`,
        { server: name, retryable: true },
      );
    if (this.#fencing.get(name)?.obstacle !== obstacle)
      this.#context.log.warn({ server: name }, `${name} runs without its sandbox: ${obstacle}`);
    this.#fencing.set(name, { isFenced: false, obstacle });
    return start;
  }

  #onLinux(start: ProcessStart, settings: SandboxSettings, program: string): ProcessStart {
    const { name, command, args } = start;
    const privateFolders = PRIVATE_FOLDERS.filter((folder) => isRealFolder(folder));
    const own = fetches(start) ? this.#ownFolder(name) : undefined;
    const places = placesOf(start, settings, {
      ...this.#around("linux"),
      ...{ ownFolder: own, privateFolders, read: READ_IN_RUN },
    });
    const cwd = realpathSync(start.cwd);
    return {
      ...start,
      command: program,
      args: [...bubblewrapArgs({ network: settings.network, places, cwd }, privateFolders), command, ...args],
      env: fetches(start) ? cacheVariables(own ?? "/tmp/cache", start.env) : start.env,
      isMonitored: true,
    };
  }

  #onMac(start: ProcessStart, settings: SandboxSettings): ProcessStart {
    const { name, command, args, env } = start;
    const own = this.#ownFolder(name);
    const temporary = own ?? tmpdir();
    const places = placesOf(start, settings, {
      ...this.#around("darwin"),
      ...{ ownFolder: temporary, privateFolders: [], read: [] },
    });
    const profile = seatbeltProfile({ network: settings.network, places });
    return {
      ...start,
      command: SANDBOX_EXEC,
      args: ["-p", profile, command, ...args],
      env: { ...(own !== undefined && fetches(start) ? cacheVariables(own, env) : env), TMPDIR: temporary },
    };
  }

  #around(platform: "linux" | "darwin") {
    const { home, stateFolder, configFiles } = this.#context;
    return { home, platform, stateFolder, configFiles: configFiles() };
  }

  #ownFolder(server: string): string | undefined {
    const { stateFolder, log } = this.#context;
    if (stateFolder === undefined) return undefined;
    try {
      return ownFolder(stateFolder, server);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      log.warn({ server }, `${server} gets no cache of its own in its sandbox: ${why}`);
      return undefined;
    }
  }
}

/** Not a link to another one, as `/var/run` is. */
function isRealFolder(folder: string): boolean {
  return existsSync(folder) && isWithin(realpathSync(folder), folder);
}
