/** `cardea remove`: removes a server from the config. */
import { closest } from "../config/closest.js";
import { parse } from "../config/open-file.js";
import { serverNames, serverPath } from "../config/read-servers.js";
import { type CommandContext, write } from "./command-context.js";
import { changeConfig, findEditable } from "./edit-config.js";
import { EXIT } from "./exit.js";
import type { ConfigFlags } from "./flags.js";

/** Returns the exit code: 1 if there is no such server. */
export async function remove(name: string, flags: ConfigFlags, shell: CommandContext): Promise<number> {
  const log = await shell.openLog();
  const target = await findEditable(flags.config, shell, log);
  if (target === undefined) return EXIT.failed;
  const { file, text } = target;
  if (text === undefined) {
    log.error({ file }, `there is no ${file}, so there is nothing to remove`);
    return EXIT.failed;
  }
  const { tree } = parse(text.replace(/^\uFEFF/, ""), file);
  const names = tree?.kind === "object" ? serverNames(tree) : [];
  if (tree?.kind === "object" && !names.includes(name)) {
    const near = closest(name, names);
    const hint =
      near === undefined
        ? names.length === 0
          ? "it has none"
          : `it has ${names.join(", ")}`
        : `did you mean ${near}?`;
    log.error({ file }, `${file} has no server ${JSON.stringify(name)}; ${hint}`);
    return EXIT.failed;
  }
  const path = tree?.kind === "object" ? serverPath(tree, name) : ["mcpServers", name];
  const code = await changeConfig(target, [{ path, value: undefined }], shell, log);
  if (code === EXIT.done) await write(shell.stdout, `removed ${name} from ${file}\n`);
  return code;
}
