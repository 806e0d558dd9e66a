/** Which files make up the console page; they are read once and served from memory. */
import { readFileSync } from "node:fs";

/** One file and its content type. */
export interface ConsoleFile {
  readonly type: string;
  readonly text: string;
}

const FILES: readonly (readonly [path: string, file: string, type: string])[] = [
  ["/", "index.html", "text/html; charset=utf-8"],
  ["/console.css", "console.css", "text/css; charset=utf-8"],
  ["/console.js", "console.js", "text/javascript; charset=utf-8"],
  ["/icon.svg", "icon.svg", "image/svg+xml"],
];

/**
 * The files by URL path. File paths are never derived from a request.
 *
 * @throws Error when a file is missing from the package.
 */
export function consoleFiles(): ReadonlyMap<string, ConsoleFile> {
  return new Map(
    FILES.map(([path, file, type]) => {
      const text = readFileSync(new URL(`./console/${file}`, import.meta.url), "utf8");
      return [path, { type, text }];
    }),
  );
}
