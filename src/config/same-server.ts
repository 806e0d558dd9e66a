/** Does an entry in a host's file start, or connect to, the same server as one of the config? */
import type { ConfiguredServer } from "./config.js";
import { normalizedKeys } from "./host-server-keys.js";
import { packageRunner, programName } from "./package-runner.js";
import { plainValue, type Tree } from "./tree.js";

/**
 * By its URL, without query and fragment, which may hold a key; else by its command: the same package where a runner fetches
 * one, in any version, else the same program with the same arguments. False in case of doubt, as for an entry that is wrong.
 */
export function isSameServer(entry: Tree, { transport }: ConfiguredServer): boolean {
  if (entry.kind !== "object" || transport.kind === "unknown") return false;
  const keys = normalizedKeys(entry);
  const textOf = (key: string): string | undefined => {
    const value = keys.get(key)?.value;
    return value?.kind === "scalar" && typeof value.value === "string" ? value.value : undefined;
  };
  if (transport.kind !== "stdio") {
    const url = textOf("url") ?? textOf("serverUrl") ?? textOf("httpUrl");
    const own = transport.kind === "http" ? transport.url : undefined;
    return url !== undefined && own !== undefined && addressOf(url) === addressOf(own);
  }
  const command = textOf("command");
  if (command === undefined) return false;
  const args = keys.get("args");
  const words = args === undefined ? [] : plainValue(args.value);
  if (!Array.isArray(words) || !words.every((word) => typeof word === "string")) return false;
  const [theirs, ours] = [packageRunner(command, words), packageRunner(transport.command, transport.args)];
  if (theirs?.name !== undefined && ours?.name !== undefined)
    return unversioned(theirs.name) === unversioned(ours.name);
  return (
    programName(command) === programName(transport.command) &&
    words.length === transport.args.length &&
    words.every((word, at) => word === transport.args[at])
  );
}

const addressOf = (text: string): string => {
  if (!URL.canParse(text)) return text;
  const { origin, pathname } = new URL(text);
  return origin + pathname.replace(/\/+$/, "");
};

/** `@scope/name@1.2.3` and `name==1.2.3` without the version. */
const unversioned = (name: string): string => name.replace(/(?<=.)(?:@|==).*$/, "");
