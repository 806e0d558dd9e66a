/** In which boot of which machine, and which pid namespace, are process ids those of this process? */
import { createHash } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

/** A digest: two processes with the same one see the same process behind a pid. Containers differ, and so does each start of one. */
export function placeOfPids(): string {
  let place = hostname();
  try {
    place = `${readFileSync("/proc/sys/kernel/random/boot_id", "utf8")} ${readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    // Not Linux.
  }
  return createHash("sha256").update(place).digest("hex").slice(0, 16);
}
