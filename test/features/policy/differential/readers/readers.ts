/** Those who read URIs on servers: Node's and WHATWG's own functions here, Python's and Go's in processes of their own. */
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, posix } from "node:path";
import { fileURLToPath } from "node:url";

/** What a reader would open: paths of files, and hosts with paths. */
export interface Opened {
  readonly paths: readonly string[];
  readonly addresses: readonly (readonly [host: string, path: string])[];
}

export interface Reader {
  readonly name: string;
  /** Undefined where its language is not installed. */
  readonly read: ((uris: readonly string[]) => Promise<readonly Opened[]>) | undefined;
}

export const READERS: readonly (() => Reader)[] = [
  () => ({ name: "Node", read: async (uris) => uris.map(readByNode) }),
  () => ({
    name: "Python",
    read: works("python3", ["--version"])
      ? (uris) => throughPipe("python3", [fileOf("reader.py")], uris)
      : undefined,
  }),
  () => ({ name: "Go", read: works("go", ["version"]) ? readByGo : undefined }),
];

const fileOf = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

const works = (command: string, args: readonly string[]): boolean =>
  spawnSync(command, args, { stdio: "ignore" }).status === 0;

function readByGo(uris: readonly string[]): Promise<readonly Opened[]> {
  const program = join(mkdtempSync(join(tmpdir(), "cardea-reader-")), "reader");
  const built = spawnSync("go", ["build", "-o", program, fileOf("reader.go")], { encoding: "utf8" });
  if (built.status !== 0) throw new Error(`reader.go cannot be built: ${built.stderr}`);
  return throughPipe(program, [], uris);
}

async function throughPipe(
  command: string,
  args: readonly string[],
  uris: readonly string[],
): Promise<readonly Opened[]> {
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
  child.stdin.end(uris.map((uri) => `${JSON.stringify(uri)}\n`).join(""));
  const parts: Buffer[] = [];
  for await (const part of child.stdout) parts.push(part as Buffer);
  const lines = Buffer.concat(parts).toString("utf8").trimEnd().split("\n");
  if (lines.length !== uris.length) throw new Error(`${command} read ${lines.length} of ${uris.length} URIs`);
  return lines.map((line) => JSON.parse(line) as Opened);
}

function readByNode(uri: string): Opened {
  const paths: string[] = [];
  const addresses: [string, string][] = [];
  const attempt = <T>(read: () => T, then: (value: T) => void): void => {
    let value: T;
    try {
      value = read();
    } catch {
      return;
    }
    then(value);
  };
  const add = (path: string): void => {
    paths.push(path, path.replaceAll("\\", "/"));
    attempt(
      () => decodeURIComponent(path),
      (decoded) => paths.push(decoded, decoded.replaceAll("\\", "/")),
    );
  };
  attempt(
    () => fileURLToPath(uri),
    (path) => paths.push(path),
  );
  attempt(
    () => new URL(uri),
    (url) => {
      if (url.protocol === "file:") {
        add(url.pathname);
        paths.push(unescape(url.pathname));
      } else if (/^https?:$/.test(url.protocol) && url.port === "") {
        addresses.push([url.hostname.replace(/\.$/, ""), url.pathname]);
        attempt(
          () => decodeURIComponent(url.pathname),
          (path) => addresses.push([url.hostname, path]),
        );
      }
    },
  );
  if (/^file:\/\//i.test(uri)) add(uri.slice("file://".length));
  return {
    paths: paths.filter(Boolean).map((path) => posix.normalize(`/${path.split("\0")[0] ?? ""}`)),
    addresses: addresses.map(([host, path]) => [host, posix.normalize(`/${path}`)]),
  };
}
