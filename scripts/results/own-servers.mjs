/** Servers that are development dependencies: the test of the page has no others. */
import { join } from "node:path";
import { root } from "../install.mjs";

/** A server of Node. */
export const node = (file, args = [], more = {}) => ({
  command: process.execPath,
  args: [file, ...args],
  ...more,
});

/** They read what `writeFiles` has written, and the folders `more`. */
export function ownServers({ folder, graph }, more = []) {
  const file = (name) => join(root, "node_modules/@modelcontextprotocol", name, "dist/index.js");
  return {
    files: node(file("server-filesystem"), [folder, ...more]),
    memory: node(file("server-memory"), [], { env: { MEMORY_FILE_PATH: graph } }),
  };
}

/** Where the declarations of the DOM are: a real file of 2 MB. */
export const declarations = join(
  root,
  `node_modules/@typescript/typescript-${process.platform}-${process.arch}/lib`,
);
