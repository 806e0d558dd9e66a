/** Which configs of folders the user has agreed to: by a digest of what they start, in the state folder. */
import { createHash } from "node:crypto";
import { realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { readPrivateFile } from "../state/private-file.js";
import { stateFolder } from "../state/state-folder.js";
import { isObject } from "../wire/json.js";
import { parseJson } from "../wire/json-text.js";
import { writePrivateJson } from "./private-json.js";

type Environment = Readonly<Record<string, string | undefined>>;

/** Whether the user has agreed to this config: to this digest, or to another one. */
export type Agreement = "none" | "changed" | "agreed";

const MAX_BYTES = 65_536;

/** @param path of the config, absolute */
export function agreementOf(env: Environment, path: string, digest: string): Agreement {
  const kept = readPrivateFile(fileFor(env, path), MAX_BYTES);
  if (kept?.ok !== true) return "none";
  try {
    const value = parseJson(kept.bytes.toString("utf8"));
    if (!isObject(value) || typeof value.digest !== "string") return "none";
    return value.digest === digest ? "agreed" : "changed";
  } catch {
    return "none";
  }
}

/** Remembers the digest; an earlier one of the same config is forgotten. @throws the error of the system */
export async function rememberAgreement(env: Environment, path: string, digest: string): Promise<void> {
  await writePrivateJson(fileFor(env, path), { config: realPath(path), digest });
}

const fileFor = (env: Environment, path: string): string => {
  const name = createHash("sha256").update(realPath(path)).digest("hex").slice(0, 32);
  return join(stateFolder(env), "agreements", `${name}.json`);
};

/** Without the links of its folder: one folder has one agreement. */
function realPath(path: string): string {
  try {
    return join(realpathSync(dirname(path)), basename(path));
  } catch {
    return path;
  }
}
