/** Writes a file of the state folder that only this user can read. */
import { randomBytes } from "node:crypto";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { JsonObject } from "../wire/json.js";
import { writeJson } from "../wire/json-text.js";

/** Replaces the file at once, or creates it with its folders. @throws the error of the system */
export async function writePrivateJson(file: string, value: JsonObject): Promise<void> {
  const draft = `${file}.${randomBytes(8).toString("hex")}`;
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  try {
    await writeFile(draft, `${writeJson(value, 2)}\n`, { mode: 0o600, flag: "wx" });
    await rename(draft, file);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}
