/** Finds stdio servers whose working directory does not exist. */
import { statSync } from "node:fs";
import type { Advice } from "./advice.js";
import type { Config } from "./config.js";

/** Reads the file system. A folder without access gets no advice: the server may run as another user. */
export function adviseFolders({ servers }: Pick<Config, "servers">): readonly Advice[] {
  return servers.flatMap(({ name, transport }): readonly Advice[] => {
    if (transport.kind !== "stdio") return [];
    const fault = faultOf(transport.cwd);
    if (fault === undefined) return [];
    return [
      { server: name, path: ["cwd"], message: `its cwd ${fault}: ${transport.cwd}`, values: [transport.cwd] },
    ];
  });
}

function faultOf(folder: string): string | undefined {
  try {
    return statSync(folder).isDirectory() ? undefined : "is not a folder";
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return "does not exist";
    return code === "ENOTDIR" ? "is not a folder" : undefined;
  }
}
