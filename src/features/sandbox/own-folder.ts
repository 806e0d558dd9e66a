/** The folder of a server in a sandbox: the caches of the program that fetches its package, which no other server reads or writes. */
import { createHash } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { packageRunner } from "../../config/package-runner.js";
import type { ProcessStart } from "../../core/process-start.js";

/** A runner that would fetch the package itself, at its start. */
export const fetches = ({ command, args }: Pick<ProcessStart, "command" | "args">): boolean =>
  packageRunner(command, args)?.fetches === "package";

/** Made if it is not there; the same for each start of the server of that name. @throws Error of the file system */
export function ownFolder(stateFolder: string, server: string): string {
  const word = server.replace(/[^\w-]/g, "_").slice(0, 40);
  const digest = createHash("sha256").update(server).digest("hex").slice(0, 8);
  const folder = join(stateFolder, "sandbox", `${word}-${digest}`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return folder;
}

/** The variables by which runners keep their caches in `folder`; what an entry sets itself stays. */
export function cacheVariables(folder: string, env: ProcessStart["env"]): ProcessStart["env"] {
  const own = {
    npm_config_cache: join(folder, "npm"),
    UV_CACHE_DIR: join(folder, "uv"),
    UV_TOOL_DIR: join(folder, "uv-tools"),
    UV_PYTHON_INSTALL_DIR: join(folder, "uv-python"),
    BUN_INSTALL_CACHE_DIR: join(folder, "bun"),
    PIPX_HOME: join(folder, "pipx"),
    PIP_CACHE_DIR: join(folder, "pip"),
    XDG_CACHE_HOME: join(folder, "cache"),
    PNPM_HOME: join(folder, "pnpm"),
    YARN_GLOBAL_FOLDER: join(folder, "yarn"),
  };
  return { ...own, ...env };
}
