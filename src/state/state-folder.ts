/** The state folder of the user (XDG base directories). */
import { createHash } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { join, resolve } from "node:path";
import { homeFolder } from "../config/home-folder.js";

type Environment = Readonly<Record<string, string | undefined>>;

/** `$CARDEA_STATE_DIR`, otherwise `$XDG_STATE_HOME/cardea`, otherwise `~/.local/state/cardea`. */
export function stateFolder(env: Environment): string {
  if (env.CARDEA_STATE_DIR) return resolve(env.CARDEA_STATE_DIR);
  return join(env.XDG_STATE_HOME || join(homeFolder(env), ".local", "state"), "cardea");
}

/** The machine and namespaces of a process. */
export interface ProcessLocation {
  /** The machine, boot and pid namespace (container) in which pids are unique. */
  readonly scope: string;
  /** The machine or container, the same after a restart of either. */
  readonly host: string;
  /** The boot of its kernel; absent if unknown. */
  readonly boot?: string;
}

/** The location of this process; each member is a digest. */
export function processLocation(): ProcessLocation {
  const boot = readIfPresent(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8"));
  const pids = readIfPresent(() => readlinkSync("/proc/self/ns/pid"));
  const machine = readIfPresent(() => readFileSync("/etc/machine-id", "utf8"));
  return {
    scope: digest(boot === undefined || pids === undefined ? hostname() : `${boot} ${pids}`),
    host: digest(`${hostname()} ${machine ?? ""}`),
    ...(boot !== undefined && { boot: digest(boot) }),
  };
}

/** Undefined if the system has no such file. */
function readIfPresent(read: () => string): string | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

const digest = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 16);
