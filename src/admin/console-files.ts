/** The files of the console page: a fixed few, read once, served from memory. */
import { readFileSync } from "node:fs";

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
 * By the path each is served at. Paths are never made from what a request says.
 *
 * @throws Error when one of them is missing from the package.
 */
export function consoleFiles(): ReadonlyMap<string, ConsoleFile> {
  return new Map(
    FILES.map(([path, file, type]) => {
      const text = readFileSync(new URL(`./console/${file}`, import.meta.url), "utf8");
      return [path, { type, text }];
    }),
  );
}
