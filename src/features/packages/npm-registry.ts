/** What does the registry of npm say of a package? Asked by `npm view`, which knows its address, credentials and proxies. */
import { isObject } from "../../wire/json.js";
import { type ChildPlace, outputOf } from "./child-output.js";

/** What is known of a package. */
export interface PackageVersions {
  /** When each version was published, in ms. */
  readonly times: ReadonlyMap<string, number>;
  readonly tags: ReadonlyMap<string, string>;
}

/** Why nothing is known: the registry has no such package, cannot be reached, or npm is not there. */
export type Unknown = "no such package" | "unreachable" | "no npm";

/** Names, ranges and tags that are passed on to npm; nothing that a shell would read as more. */
const SAFE = /^[\w@/.^~<>=|* +-]{1,250}$/;
const NETWORK =
  /\b(?:ENOTFOUND|ECONNREFUSED|ECONNRESET|EAI_AGAIN|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ENOTCACHED|ERR_SOCKET_TIMEOUT|FETCH_ERROR|EPIPE)\b/;

/** Whether npm says that it could not reach its registry. */
export const isNetworkFailure = (output: string): boolean => NETWORK.test(output);

/** Its versions with their times, and its tags. */
export async function versionsOf(name: string, place: ChildPlace): Promise<PackageVersions | Unknown> {
  const answer = await view([name, "time", "dist-tags"], place);
  if (typeof answer === "string") return answer;
  const { time, "dist-tags": tags } = isObject(answer.value) ? answer.value : {};
  return {
    times: new Map(
      entriesOf(time).flatMap(([version, at]) => {
        const ms = Date.parse(at);
        return Number.isNaN(ms) || !/^\d/.test(version) ? [] : [[version, ms] as const];
      }),
    ),
    tags: new Map(entriesOf(tags)),
  };
}

/** The newest version that a range or a tag accepts. */
export async function newestOf(
  text: string,
  place: ChildPlace,
): Promise<{ readonly version: string } | Unknown> {
  const answer = await view([text, "version"], place);
  if (typeof answer === "string") return answer;
  const { value } = answer;
  const version: unknown = Array.isArray(value) ? value.at(-1) : value;
  return typeof version === "string" ? { version } : "no such package";
}

const entriesOf = (value: unknown): readonly (readonly [string, string])[] =>
  Object.entries(isObject(value) ? value : {}).flatMap(([key, text]) =>
    typeof text === "string" ? [[key, text] as const] : [],
  );

async function view(
  words: readonly string[],
  place: ChildPlace,
): Promise<{ readonly value: unknown } | Unknown> {
  if (!words.every((word) => SAFE.test(word))) return "no such package";
  const env = {
    ...place.env,
    npm_config_fetch_retries: "0",
    npm_config_fetch_timeout: "10000",
    npm_config_update_notifier: "false",
  };
  const { ok, isMissing, stdout, stderr } = await outputOf("npm", ["view", "--json", ...words], {
    ...place,
    env,
  });
  if (isMissing) return "no npm";
  if (!ok) return isNetworkFailure(stdout + stderr) || stdout === "" ? "unreachable" : "no such package";
  try {
    return { value: JSON.parse(stdout) as unknown };
  } catch {
    // npm writes nothing where no version matches.
    return "no such package";
  }
}
