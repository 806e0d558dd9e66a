/** Foreign readers of JSON: what servers in Go, Python and Node make of a request. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inRepository } from "../../../support/cardea.js";

/** What a server would act on. */
export interface Reading {
  readonly method: string;
  readonly name: string;
  readonly uri: string;
  readonly refName: string;
  readonly refUri: string;
  /** The argument `env`, where it is a text. */
  readonly env: unknown;
  /** Something is of another type than the server expects: `arguments` that are no object. */
  readonly odd: boolean;
}

/** All that one body may be read as. */
interface Readings {
  readonly readings: readonly Reading[];
  /** A member of one name stands twice in some object. */
  readonly doubled?: boolean;
}

export interface Reader {
  readonly name: string;
  read(bodies: readonly string[]): readonly Readings[];
}

const here = (file: string): string => inRepository(`test/features/policy/differential/${file}`);
const MAX_BUFFER = 1024 ** 3;

function run(command: string, args: readonly string[], bodies: readonly string[]): readonly string[] {
  if (bodies.length === 0) return [];
  const input = `${bodies.join("\n")}\n`;
  const { status, stdout, stderr } = spawnSync(command, args, {
    input,
    encoding: "utf8",
    maxBuffer: MAX_BUFFER,
  });
  if (status !== 0) throw new Error(`${command}: ${stderr}`);
  const lines = stdout.trimEnd().split("\n");
  if (lines.length !== bodies.length)
    throw new Error(`${command} has read ${lines.length} of ${bodies.length}`);
  return lines;
}

/** True if the program is installed; otherwise false, with a clearly visible line in the output. */
export function isThere(command: string, version: string, remedy: string): boolean {
  if (spawnSync(command, [version]).status === 0) return true;
  console.warn(
    `\n*** NOT CHECKED: ${command} is missing, so its reading of JSON was not compared (${remedy}) ***\n`,
  );
  return false;
}

/** The reader in Go; call `remove` when it is no longer needed. */
export function goReader(): Reader & { remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), "json-reader-"));
  const program = join(folder, "json-reader");
  const env = { ...process.env, GO111MODULE: "off", GOFLAGS: "", CGO_ENABLED: "0" };
  const { status, stderr } = spawnSync("go", ["build", "-o", program, here("json-reader.go")], { env });
  if (status !== 0) throw new Error(`go build: ${String(stderr)}`);
  return {
    name: "Go",
    read: (bodies) => run(program, [], bodies).map((line) => ({ readings: [JSON.parse(line) as Reading] })),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

export const pythonReader: Reader = {
  name: "Python",
  read: (bodies) =>
    run("python3", [here("json_reader.py")], bodies).map((line) => JSON.parse(line) as Readings),
};

export const nodeReader: Reader = {
  name: "Node",
  read: (bodies) => bodies.map((body) => ({ readings: [readingOf(JSON.parse(body))] })),
};

function readingOf(message: unknown): Reading {
  const params = at(message, "params");
  const args = at(params, "arguments");
  const ref = at(params, "ref");
  const env = at(args, "env");
  return {
    method: text(at(message, "method")),
    name: text(at(params, "name")),
    uri: text(at(params, "uri")),
    refName: text(at(ref, "name")),
    refUri: text(at(ref, "uri")),
    env: typeof env === "string" ? env : null,
    odd: args !== undefined && (typeof args !== "object" || args === null || Array.isArray(args)),
  };
}

const at = (value: unknown, key: string): unknown =>
  typeof value === "object" && value !== null && Object.hasOwn(value, key)
    ? (value as Readonly<Record<string, unknown>>)[key]
    : undefined;
const text = (value: unknown): string => (typeof value === "string" ? value : "");

/** Whether a rule of the test forbids what a server would do that reads so; by exposed names and own ones. */
export function isForbidden({ method, name, uri, refName, refUri, env, odd }: Reading): boolean {
  const isTool = method === "tools/call";
  const isPrompt = method === "prompts/get";
  if ((isTool || isPrompt) && (odd || env === "prod")) return true;
  if (isTool && /(^|__)drop$/.test(name)) return true;
  if (isPrompt && /(^|__)secret$/.test(name)) return true;
  if (method === "resources/read" && uri.includes("/etc/")) return true;
  return method === "completion/complete" && (/(^|__)secret$/.test(refName) || refUri.includes("/etc/"));
}
