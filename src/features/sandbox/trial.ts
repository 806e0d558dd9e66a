/** Can this machine have a sandbox? Found by a trial of bubblewrap, which is good for all servers once it succeeds. */
import { execFile } from "node:child_process";
import { accessSync, constants, existsSync, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { base } from "./bubblewrap.js";
import { type Machine, NOT_INSTALLED, noSandboxOn, obstacleIn } from "./obstacles.js";
import { SANDBOX_EXEC } from "./seatbelt.js";

/** The program that makes sandboxes here, or why there is none: a clause. */
export type Found = { readonly program: string } | { readonly obstacle: string };

const TIMEOUT_MS = 10_000;

/** Finds it, at each question until there is one. */
export class Trial {
  readonly #machine: Machine;
  readonly #good = new Map<boolean, Found>();

  constructor(machine: Machine) {
    this.#machine = machine;
  }

  /** Never rejects. */
  async found(network: boolean): Promise<Found> {
    const known = this.#good.get(network);
    if (known !== undefined) return known;
    const found = await this.#try(network);
    if ("program" in found) this.#good.set(network, found);
    return found;
  }

  async #try(network: boolean): Promise<Found> {
    const { platform, env } = this.#machine;
    if (platform === "darwin")
      return existsSync(SANDBOX_EXEC)
        ? { program: SANDBOX_EXEC }
        : { obstacle: `${SANDBOX_EXEC} is not there` };
    if (platform !== "linux") return { obstacle: noSandboxOn(platform) };
    const program = bubblewrapIn(env.PATH);
    if (program === undefined) return { obstacle: NOT_INSTALLED };
    const output = await failureOf(program, [
      ...base(network),
      "--tmpfs",
      "/tmp",
      "--",
      program,
      "--version",
    ]);
    return output === undefined ? { program } : { obstacle: obstacleIn(output, this.#machine) };
  }
}

/** The machine of this process. */
export const thisMachine = (env: Machine["env"]): Machine => ({
  ...{ platform: process.platform, env },
  read(path) {
    try {
      return readFileSync(path, "utf8");
    } catch {
      return undefined;
    }
  },
});

/** By the gateway's own PATH, not that of a server. */
function bubblewrapIn(path: string | undefined): string | undefined {
  return (path || "/usr/bin:/usr/local/bin")
    .split(delimiter)
    .filter((folder) => folder.startsWith("/"))
    .map((folder) => join(folder, "bwrap"))
    .find((file) => {
      try {
        accessSync(file, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}

/** What it wrote; undefined if it did not fail. */
const failureOf = (program: string, args: readonly string[]): Promise<string | undefined> =>
  new Promise((resolve) => {
    execFile(program, [...args], { timeout: TIMEOUT_MS, env: {} }, (error, _, stderr) =>
      resolve(error === null ? undefined : stderr || error.message),
    );
  });
