/** The files of the console, in memory, as written by scripts/build-console.mjs. */
import { existsSync, readFileSync } from "node:fs";

/** A file with its content type and cache lifetime. */
export interface ConsoleFile {
  readonly type: string;
  readonly text: string;
  readonly cache: string;
}

/** From a chunk of dist/, and from a module of build/ or src/. */
const FOLDERS = ["../admin/console/", "../../../dist/admin/console/"];

const TYPES: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  svg: "image/svg+xml",
};

/**
 * The files, keyed by URL path. File paths are never derived from a request.
 *
 * @throws Error if the console was not built, or a file is missing from the package.
 */
export function consoleFiles(): ReadonlyMap<string, ConsoleFile> {
  const folder = FOLDERS.map((path) => new URL(path, import.meta.url)).find((url) =>
    existsSync(new URL("files.json", url)),
  );
  if (folder === undefined) throw new Error("the console is not built: run `npm run build`");
  const read = (name: string): string => readFileSync(new URL(name, folder), "utf8");
  const names = JSON.parse(read("files.json")) as readonly string[];
  return new Map(
    names.map((name) => {
      const isPage = name === "index.html";
      // All other names contain a digest of the content.
      const cache = isPage ? "no-store" : "public, max-age=31536000, immutable";
      const type = TYPES[name.slice(name.lastIndexOf(".") + 1)] ?? "application/octet-stream";
      return [isPage ? "/" : `/${name}`, { type, text: read(name), cache }];
    }),
  );
}
