/** Advice on servers whose package has no exact version, or a name like another's. */
import type { Advised } from "../../cli/feature.js";
import { type Config, usableServers } from "../../config/config.js";
import { lookAlike } from "./look-alike.js";
import { type PackageStart, packageStart } from "./package-start.js";

/** For `cardea check` and `cardea doctor`. */
export const adviseOn = (config: Config): readonly Advised[] =>
  usableServers(config).flatMap(({ name: server, transport }): readonly Advised[] => {
    const line = transport.kind === "stdio" ? packageStart(transport.command, transport.args) : undefined;
    if (line === undefined) return [];
    const values = [line.text, line.name];
    return [unpinnedText(line), lookAlikeText(line)].flatMap((message) =>
      message === undefined ? [] : [{ server, path: ["args"], message, values }],
    );
  });

/** What is said of a line without an exact version; undefined for one that has it. */
export function unpinnedText({ pin, text, name, ecosystem }: PackageStart): string | undefined {
  if (pin !== undefined) return undefined;
  const example = `${name}${ecosystem === "npm" ? "@" : "=="}1.2.3`;
  return `it runs whatever version of ${text} is newest; pin one, such as ${example}`;
}

/** What is said of a name that looks like a well-known one; undefined for one that does not. */
export function lookAlikeText({ ecosystem, name }: PackageStart): string | undefined {
  const found = lookAlike(ecosystem, name);
  if (found === undefined) return undefined;
  return `the package ${name} may be mistaken for the well-known ${found.wellKnown}: its name ${found.how}; is it the one that is meant?`;
}
