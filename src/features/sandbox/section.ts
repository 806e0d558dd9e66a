/** The section `sandbox` of a server: what its process may reach. */
import { z } from "zod";
import { absolutePath } from "../../config/home-folder.js";
import { sectionOf } from "../../config/section.js";
import { ServerConfigError } from "../../config/server-config-error.js";

const path = z
  .string()
  .min(1)
  .refine((text) => !text.includes("\0"), { error: "is no path" });

const schema = z.strictObject({
  network: z
    .boolean()
    .default(false)
    .describe("Whether it reaches the network. Without, it has a loopback of its own and nothing else."),
  write: z
    .array(path)
    .default([])
    .describe(
      'Files and folders that it may write; everything else is read-only, but a `/tmp` of its own. Relative to the config file; `~/` is the home folder; `"roots"` is the folder of the host, for a server with `cwd: "roots"`.',
    ),
  hide: z
    .array(path)
    .default([])
    .describe(
      "Files and folders that it does not see, beside those with credentials (docs/sandbox.md has the list). Of a path in `write` and one in `hide` the longer one counts.",
    ),
  required: z
    .boolean()
    .default(true)
    .describe(
      "Whether it is not started where the sandbox cannot be had; `false` starts it without, with a warning.",
    ),
});

/** The settings of one server. */
export interface SandboxSettings {
  readonly network: boolean;
  /** Absolute. */
  readonly write: readonly string[];
  /** Whether the working directory is writable, as that of a host is with `"roots"`. */
  readonly writesRoots: boolean;
  /** Absolute. */
  readonly hide: readonly string[];
  readonly required: boolean;
}

declare module "../../config/config.js" {
  interface ServerFeatureSettings {
    readonly sandbox?: SandboxSettings;
  }
}

/** A folder of this name is `./roots`, as in `cwd`. */
const ROOTS = "roots";

/** `sandbox` of a server. */
export const section = sectionOf({
  of: "server",
  path: "sandbox",
  schema: schema
    .exactOptional()
    .describe(
      "Runs its process in a sandbox: read-only, with a `/tmp` of its own, without the processes of others (docs/sandbox.md). Default: none.",
    ),
  change: "reload",
  complete({ network, write, hide, required }, folder, server): SandboxSettings {
    if (server.kind !== "stdio")
      throw new ServerConfigError('has a "sandbox", which only servers with a "command" have');
    const absolute = (paths: readonly string[], key: "write" | "hide"): readonly string[] =>
      paths.map((each, at) => {
        const found = absolutePath(each === "~" ? "~/" : each, folder);
        if (found === "/")
          throw new ServerConfigError(`names / in sandbox.${key}, which is everything`, key, `${at}`);
        return found;
      });
    return {
      ...{ network, required },
      write: absolute(
        write.filter((each) => each !== ROOTS),
        "write",
      ),
      writesRoots: write.includes(ROOTS),
      hide: absolute(hide, "hide"),
    };
  },
});

/** Those of a server; undefined for one without. */
export const settingsOf = (features: Readonly<Record<string, unknown>>): SandboxSettings | undefined =>
  features[section.path] as SandboxSettings | undefined;
