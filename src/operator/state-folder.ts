/** Where does Cardea keep its state on this machine? In the state folder of the user (XDG base directories). */
import { createHash } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { homedir, hostname } from "node:os";
import { join, resolve } from "node:path";

type Environment = Readonly<Record<string, string | undefined>>;

/** `$CARDEA_STATE_DIR`, else `$XDG_STATE_HOME/cardea`, else `~/.local/state/cardea`. */
export function stateFolder(env: Environment): string {
  if (env.CARDEA_STATE_DIR) return resolve(env.CARDEA_STATE_DIR);
  return join(env.XDG_STATE_HOME || join(env.HOME || homedir(), ".local", "state"), "cardea");
}

/** Identifies the machine, boot and pid namespace (container) within which pids are unique. */
export function pidScope(): string {
  let scope: string;
  try {
    scope = `${readFileSync("/proc/sys/kernel/random/boot_id", "utf8")} ${readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    // Not Linux.
    scope = hostname();
  }
  return createHash("sha256").update(scope).digest("hex").slice(0, 16);
}
