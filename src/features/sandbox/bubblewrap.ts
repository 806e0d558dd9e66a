/** The command line of bubblewrap: which namespaces a process gets, and what it sees of the file system. */
import type { Place } from "./places.js";

/** A process in a sandbox. */
export interface Fenced {
  readonly network: boolean;
  /** Shorter paths first. */
  readonly places: readonly Place[];
  readonly cwd: string;
}

/** Empty at the start, and the process's own: temporary files, and sockets of services such as Docker's, D-Bus or an SSH agent. */
export const PRIVATE_FOLDERS: readonly string[] = ["/tmp", "/var/tmp", "/run"];

/**
 * No capability is left, not even of root; everything ends with the gateway. A session of its own it need not have, since the
 * gateway starts it in one, without a terminal.
 */
const NAMESPACES: readonly string[] = [
  ...["--die-with-parent", "--cap-drop", "ALL"],
  ...["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"],
];

/** What every sandbox has; a trial run has nothing else. */
export const base = (network: boolean): readonly string[] => [
  ...NAMESPACES,
  ...(network ? [] : ["--unshare-net"]),
  ...["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"],
];

/** The arguments before the command. `privateFolders`: those that are there. */
export function bubblewrapArgs(
  { network, places, cwd }: Fenced,
  privateFolders: readonly string[],
): readonly string[] {
  const hidden = places.filter(({ access, isFolder }) => access === "none" && isFolder);
  return [
    ...base(network),
    ...privateFolders.flatMap((folder) => ["--tmpfs", folder]),
    ...places.flatMap(mountOf),
    // After the mounts within them, whose mount points are made there.
    ...hidden.flatMap(({ path }) => ["--remount-ro", path]),
    // It may name a folder that is not there.
    ...["--unsetenv", "TMPDIR", "--chdir", cwd, "--"],
  ];
}

function mountOf({ path, access, isFolder }: Place): readonly string[] {
  if (access === "read") return ["--ro-bind", path, path];
  if (access === "write") return [path.startsWith("/dev/") ? "--dev-bind" : "--bind", path, path];
  return isFolder ? ["--tmpfs", path] : ["--ro-bind", "/dev/null", path];
}
