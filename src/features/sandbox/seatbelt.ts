/** The profile of macOS's `sandbox-exec`, which has no namespaces: rules about paths, the network, and signals to others. */
import type { Fenced } from "./bubblewrap.js";
import type { Place } from "./places.js";

/** Every macOS has it. */
export const SANDBOX_EXEC = "/usr/bin/sandbox-exec";

/** Devices that programs write to. */
const DEVICES = ["/dev/null", "/dev/zero", "/dev/tty", "/dev/dtracehelper", "/dev/fd"];

/** Sockets of services that would do for it what it may not do itself. */
const SERVICES = ["/private/var/run/docker.sock", "/private/var/run/containerd.sock"];

/** The last rule that matches counts. */
export function seatbeltProfile({ network, places }: Pick<Fenced, "network" | "places">): string {
  return [
    "(version 1)",
    "(allow default)",
    "(deny file-write*)",
    `(allow file-write* ${DEVICES.map((path) => `(subpath ${quoted(path)})`).join(" ")})`,
    "(deny signal (target others))",
    "(deny process-info* (target others))",
    ...(network ? [] : ["(deny network*)"]),
    `(deny network-outbound ${SERVICES.map((path) => `(literal ${quoted(path)})`).join(" ")})`,
    ...places.map(ruleOf),
  ].join("\n");
}

function ruleOf({ path, access, isFolder }: Place): string {
  const where = `(${isFolder ? "subpath" : "literal"} ${quoted(path)})`;
  if (access === "none") return `(deny file-read* file-write* ${where})`;
  const write = `(${access === "write" ? "allow" : "deny"} file-write* ${where})`;
  return `(allow file-read* ${where})\n${write}`;
}

const quoted = (path: string): string => `"${path.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
