/** Opens a page in the person's browser, if there is one. */
import { spawn } from "node:child_process";

type Environment = Readonly<Record<string, string | undefined>>;

/** The program and its leading arguments. */
type Opener = readonly [program: string, ...args: string[]];

/**
 * The program that opens a page; undefined if this machine has no display, or the person is on another machine.
 *
 * @param platform as `process.platform`
 */
export function browserOpener(env: Environment, platform: string): Opener | undefined {
  if (env.CI || env.SSH_CONNECTION || env.SSH_TTY) return undefined;
  if (platform === "darwin") return ["open"];
  // `start` would be read by a shell.
  if (platform === "win32") return ["rundll32", "url.dll,FileProtocolHandler"];
  return env.DISPLAY || env.WAYLAND_DISPLAY || env.WSL_DISTRO_NAME ? ["xdg-open"] : undefined;
}

/**
 * Opens an http: or https: URL, with an argument vector and no shell. Resolves to whether the program exists; the
 * browser outlives this process.
 */
export function openBrowser(url: string, [program, ...args]: Opener): Promise<boolean> {
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) return Promise.resolve(false);
  return new Promise((resolve) => {
    const child = spawn(program, [...args, new URL(url).href], { stdio: "ignore", detached: true });
    child.once("error", () => resolve(false));
    child.once("spawn", () => {
      child.unref();
      resolve(true);
    });
  });
}
