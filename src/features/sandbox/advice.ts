/** Advice about local servers: which run without a sandbox, and settings of a sandbox that do nothing. */
import { existsSync } from "node:fs";
import type { Advised } from "../../cli/feature.js";
import { type Config, usableServers } from "../../config/config.js";
import { packageRunner } from "../../config/package-runner.js";
import type { Finding } from "../../core/replicas.js";
import { settingsOf } from "./section.js";

/** How many of them one line names. */
const MAX_NAMES = 10;

/** For `cardea doctor`: one line about all of them. */
export function findingsOn(config: Pick<Config, "servers">): readonly Finding[] | undefined {
  const names = usableServers(config)
    .filter(({ transport, features }) => transport.kind === "stdio" && settingsOf(features) === undefined)
    .filter(({ transport }) => !isContainer(transport))
    .map(({ name }) => name);
  if (names.length === 0) return undefined;
  const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : "";
  return [
    {
      about: "local servers",
      ok: true,
      sentence: `not fenced: ${names.slice(0, MAX_NAMES).join(", ")}${more}; each may read and write what you may ("sandbox" fences a server)`,
    },
  ];
}

/** For `cardea check`. */
export const adviseOn = (config: Config): readonly Advised[] =>
  usableServers(config).flatMap(({ name: server, transport, features }): readonly Advised[] => {
    const settings = settingsOf(features);
    if (settings === undefined || transport.kind !== "stdio") return [];
    const absent = settings.hide.filter((path) => !existsSync(path));
    return [
      ...absent.map((path) => ({
        ...{ server, path: ["sandbox", "hide"], values: [path] },
        message: `its sandbox does not hide ${path}, which is not there: if it is made while the server runs, the server sees it`,
      })),
      ...(isContainer(transport)
        ? [
            {
              ...{ server, path: ["sandbox"] },
              message: "its sandbox fences the program that asks for the container, not the container",
            },
          ]
        : []),
      ...(settings.writesRoots && transport.inRoots === undefined
        ? [
            {
              ...{ server, path: ["sandbox", "write"] },
              message:
                '"roots" in sandbox.write is its working directory, as it has no "cwd": "roots"; a folder of that name is "./roots"',
            },
          ]
        : []),
    ];
  });

const isContainer = (transport: Config["servers"][number]["transport"]): boolean =>
  transport.kind === "stdio" && packageRunner(transport.command, transport.args)?.fetches === "image";
