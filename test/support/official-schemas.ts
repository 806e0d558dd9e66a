/**
 * The official JSON Schemas of the protocol's revisions, as the conformance suite on npm carries them. They are
 * fetched on first use into `.cache/schemas` (the package alone, checked against its known hash) and never
 * become part of this repository.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { runInNewContext } from "node:vm";
import { gunzipSync } from "node:zlib";
import { inRepository } from "./cardea.js";
import type { Json } from "./peers/host.js";

const PACKAGE = "@modelcontextprotocol/conformance@0.2.0-alpha.12";
const SHA512 = "eXtZFgmtZiU5SsvXty+RGXGnyIqEVm3GLU/HZmg1wMjtKOocPZZgD9HQKd30oJhio5UB0wFJmsc6r8u48Q+EYA==";
/** In the order in which they stand in the package; 2024-11-05 is not among them. */
export const REVISIONS = ["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"] as const;
export type Revision = (typeof REVISIONS)[number];

const cache = inRepository(".cache/schemas");
const fileOf = (revision: Revision): string => join(cache, `${SHA512.slice(0, 8)}-${revision}.json`);

/** The schema of one revision. @throws Error when it is not there yet and cannot be fetched */
export function officialSchema(revision: Revision): Json {
  if (!existsSync(fileOf(revision))) fetchAll();
  return JSON.parse(readFileSync(fileOf(revision), "utf8")) as Json;
}

function fetchAll(): void {
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "fetch-"));
  try {
    const { status, stderr } = spawnSync("npm", ["pack", PACKAGE, "--pack-destination", folder], {
      encoding: "utf8",
      shell: process.platform === "win32",
    });
    if (status !== 0)
      throw new Error(`npm could not fetch ${PACKAGE}, which carries the schemas:\n${stderr}`);
    const [name = ""] = readdirSync(folder);
    const archive = readFileSync(join(folder, name));
    if (createHash("sha512").update(archive).digest("base64") !== SHA512) {
      throw new Error(`${PACKAGE} is not what it was`);
    }
    const schemas = schemasIn(fileInTar(gunzipSync(archive), "package/dist/index.js"));
    for (const [index, revision] of REVISIONS.entries()) {
      // Two test files may fetch at the same time; each file appears at once and whole.
      const part = join(folder, revision);
      writeFileSync(part, JSON.stringify(schemas[index]));
      renameSync(part, fileOf(revision));
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const BLOCK = 512;

/** One file of a tar archive: headers of 512 bytes, contents padded to the same. */
function fileInTar(tar: Buffer, wanted: string): string {
  for (let at = 0; at + BLOCK <= tar.length; ) {
    const text = (from: number, length: number): string =>
      tar.toString("latin1", at + from, at + from + length).replace(/\0.*$/s, "");
    const size = Number.parseInt(text(124, 12), 8) || 0;
    if (text(0, 100) === wanted) return tar.toString("utf8", at + BLOCK, at + BLOCK + size);
    at += BLOCK * (1 + Math.ceil(size / BLOCK));
  }
  throw new Error(`${PACKAGE} has no ${wanted}`);
}

/** The schemas stand in the bundle as object literals, one for each revision, oldest first. */
function schemasIn(bundle: string): readonly Json[] {
  const starts = [...bundle.matchAll(/\{\$schema:`[^`]*`,(?:definitions|\$defs):\{Annotations:/g)];
  if (starts.length !== REVISIONS.length) throw new Error(`found ${starts.length} schemas in ${PACKAGE}`);
  return starts.map(({ index }) => runInNewContext(`(${literalAt(bundle, index)})`) as Json);
}

/** The text of the object literal that begins at `start`. */
function literalAt(code: string, start: number): string {
  let depth = 0;
  let quote = "";
  for (let at = start; at < code.length; at++) {
    const char = code.charAt(at);
    if (quote !== "") {
      if (char === "\\") at += 1;
      else if (char === quote) quote = "";
    } else if (char === "`" || char === '"' || char === "'") quote = char;
    else if (char === "{" || char === "[") depth += 1;
    else if (char === "}" || char === "]") depth -= 1;
    if (depth === 0) return code.slice(start, at + 1);
  }
  throw new Error("an object literal does not end");
}
