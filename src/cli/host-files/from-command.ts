/** Makes a config from a command line: one server, with its own names. */
import { basename } from "node:path";
import { completeServer } from "../../config/complete-server.js";
import type { Config } from "../../config/config.js";
import { type ListenOverrides, readConfig } from "../../config/read.js";
import type { Section } from "../../config/section.js";
import { ServerConfigError } from "../../config/server-config-error.js";
import { serverSchema } from "../../config/server-schema.js";

/** The flags that make up a config without a file. */
export interface CommandConfigOptions {
  readonly cwd: string;
  readonly overrides?: ListenOverrides;
  /** Of features. Default: none. */
  readonly sections?: readonly Section[];
}

/**
 * `cardea -- CMD ARGS…`: one stdio server. Nothing is expanded, because the shell has already done that.
 *
 * @throws RangeError for an impossible program, or conflicting flags
 */
export function configOfCommand(
  command: string,
  args: readonly string[],
  options: CommandConfigOptions,
): Config {
  return configOfServer(nameOfCommand(command, args), { command, args }, options);
}

/**
 * `cardea connect URL`: one HTTP server.
 *
 * @throws RangeError for an invalid URL or header, or conflicting flags
 */
export function configOfUrl(
  url: string,
  headers: Readonly<Record<string, string>>,
  options: CommandConfigOptions,
): Config {
  const name = URL.canParse(url) ? new URL(url).hostname : "server";
  return configOfServer(name, { url, headers }, options);
}

function configOfServer(
  name: string,
  server: object,
  { cwd, overrides = {}, sections = [] }: CommandConfigOptions,
): Config {
  const shape = serverSchema.safeParse({ ...server, prefix: "" });
  if (!shape.success) {
    const [issue] = shape.error.issues;
    const message = issue?.code === "invalid_key" ? issue.issues[0]?.message : issue?.message;
    throw new RangeError(`the server's ${String(issue?.path[0])}: it ${message}`);
  }
  const empty = readConfig("{}", "cardea.jsonc", { overrides, sections });
  // Any problem comes from the flags.
  if (!empty.ok) throw new RangeError(empty.problems[0]?.message);
  const { file: _, ...config } = empty.config;
  const readFile = (): string => {
    throw new Error("a command line names no files");
  };
  try {
    return { ...config, servers: [completeServer(name, shape.data, { folder: cwd, readFile })] };
  } catch (error) {
    if (error instanceof ServerConfigError)
      throw new RangeError(`the server ${error.message}`, { cause: error });
    throw error;
  }
}

/** `npx -y @scope/server-x@1.2` is called `server-x`. */
function nameOfCommand(command: string, args: readonly string[]): string {
  const own = basename(command).replace(/\.(exe|cmd|bat)$/i, "");
  const runner = /^(npx|bunx|pnpx|uvx|pipx|node|bun|deno|python3?|uv)$/.test(own);
  const target = runner ? args.find((arg) => !arg.startsWith("-") && arg !== "run") : undefined;
  const path = (target ?? own).replace(/(?<=.)@[^/]*$/, "").replace(/\.[cm]?[jt]s$|\.py$/, "");
  // The last segment is often generic: …/server-files/dist/index.js is server-files.
  const words = path
    .split(/[/\\]/)
    .filter((word) => word !== "" && !/^(\.+|index|main|dist|build|lib|src|bin)$/.test(word));
  return words.at(-1) ?? "server";
}
