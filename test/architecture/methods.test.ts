/** Methods are listed in one place, and only edges ask which revision has one. */
import { expect, test } from "vitest";
import { METHODS } from "../../src/core/methods.js";
import { filesOf } from "./imports.js";

/** Files that may name several methods in one list. */
const LISTS = [
  "core/lists.ts", // the words of lists
  "core/members.ts", // the members of parameters
  "core/methods.ts", // the table
  "downstream/legacy/pipe-edge.ts", // what a session without `initialize` may send
  "downstream/legacy/send-question.ts", // what stands for the answer of a host that refuses
  "downstream/legacy/serve-request.ts", // what a session serves, with its handlers
];

/** Whether `text` has a list of names of methods, or a map from several of them. */
function listsMethods(text: string): boolean {
  const named = (list: string, pattern: RegExp): number =>
    [...list.matchAll(pattern)].filter(([, name = ""]) => Object.hasOwn(METHODS, name)).length;
  const hasList = [...text.matchAll(/\[[^[\]]*\]/g)].some(([list]) => named(list, /"([^"]+)"/g) > 1);
  return (
    hasList || named(text, /(?:^\s*|\[|, )\[\s*"([^"]+)",/gm) > 1 || named(text, /^ {2}"([^"]+)": /gm) > 1
  );
}

test("no other file lists methods", () => {
  const found = filesOf("src").filter(({ text }) => listsMethods(text));
  expect(found.map(({ file }) => file).sort()).toEqual(LISTS.filter((file) => file !== "core/lists.ts"));
});

test("only edges read which revisions have a method", () => {
  const readers = filesOf("src").filter(
    ({ file, text }) =>
      file !== "core/methods.ts" &&
      /core\/methods\.js"/.test(text) &&
      /\(\{[^}]*\brevisions\b|\.revisions\b/.test(text),
  );
  expect(readers.filter(({ file }) => !/^(?:downstream|upstream)\//.test(file))).toEqual([]);
  expect(readers.map(({ file }) => file)).toContain("downstream/modern/methods.ts");
});

test("the check finds lists and maps of methods", () => {
  expect(listsMethods('const READS = new Set(["tools/call", "prompts/get"]);')).toBe(true);
  expect(listsMethods('new Map([["tools/call", 1], ["prompts/get", 2]])')).toBe(true);
  expect(listsMethods('{\n  "tools/call": 1,\n  "prompts/get": 2,\n}')).toBe(true);
  expect(listsMethods('call("tools/call", ["a", "prompts/get"])')).toBe(false);
});
