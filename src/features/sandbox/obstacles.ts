/** Why can this machine have no sandbox, and which line of it changes that? */

/** What is known of the machine. */
export interface Machine {
  readonly platform: NodeJS.Platform;
  /** The content of a file; undefined if there is none. */
  readonly read: (path: string) => string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Where bubblewrap is not installed. */
export const NOT_INSTALLED =
  "bubblewrap (bwrap) is not installed; install it: apt install bubblewrap, dnf install bubblewrap, or apk add bubblewrap";

/** For a platform without one. */
export const noSandboxOn = (platform: NodeJS.Platform): string =>
  `there is none for this platform (${platform}), only for Linux and macOS`;

const CONTAINER =
  "run it with --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined (Docker, Podman)";

/** Settings of the kernel that forbid user namespaces, each with the value that does and the command that changes it. */
const SETTINGS = [
  {
    file: "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
    forbids: "1",
    why: "AppArmor allows no unprivileged user namespaces, as on Ubuntu 24.04",
    change:
      "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or give /usr/bin/bwrap an AppArmor profile with userns",
  },
  {
    file: "/proc/sys/kernel/unprivileged_userns_clone",
    forbids: "0",
    why: "the kernel allows no unprivileged user namespaces",
    change: "sudo sysctl -w kernel.unprivileged_userns_clone=1",
  },
  {
    file: "/proc/sys/user/max_user_namespaces",
    forbids: "0",
    why: "the kernel allows no user namespaces",
    change: "sudo sysctl -w user.max_user_namespaces=15000",
  },
] as const;

/** What bubblewrap says where the machine forbids what it does. */
const FORBIDDEN =
  /No permissions to create new namespace|Creating new namespace failed|setting up [ug]id map|loopback: Failed|Can't mount|Failed to (?:make|mount)|Operation not permitted|Permission denied/;
const PROC = /Can't mount proc/;

/** A clause about what bubblewrap wrote when a trial of it failed. */
export function obstacleIn(output: string, machine: Machine): string {
  const last = output.trim().split("\n").at(-1) ?? "";
  const words = last === "" ? "bwrap wrote nothing" : last.slice(0, 300);
  if (!FORBIDDEN.test(output)) return `bubblewrap fails: ${words}`;
  const inContainer = isInContainer(machine);
  if (PROC.test(output) && inContainer)
    return `this container hides parts of /proc (${words}); run it with --security-opt systempaths=unconfined (Docker, Podman)`;
  for (const { file, forbids, why, change } of SETTINGS) {
    if (machine.read(file)?.trim() === forbids) return `${why} (${words}); change it: ${change}`;
  }
  if (inContainer) return `this container allows no namespaces (${words}); ${CONTAINER}`;
  return `the machine allows bubblewrap no namespaces (${words}); change it: sudo sysctl -w kernel.unprivileged_userns_clone=1, or what a security module says of bwrap in the log of the kernel`;
}

function isInContainer({ read, env }: Machine): boolean {
  return (
    env.KUBERNETES_SERVICE_HOST !== undefined ||
    env.container !== undefined ||
    ["/.dockerenv", "/run/.containerenv"].some((path) => read(path) !== undefined) ||
    /docker|containerd|kubepods|libpod/.test(read("/proc/1/cgroup") ?? "")
  );
}
