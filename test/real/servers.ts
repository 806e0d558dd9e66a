/** The three real servers that come with the install, and a use of everything they offer. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { inRepository } from "../support/cardea.js";
import type { Json, Place } from "../support/peers/host.js";

/** One request to a server, under the server's own names. */
export interface Use {
  readonly method: string;
  readonly params: Json;
}

export interface RealServer {
  readonly name: string;
  readonly place: Extract<Place, { command: string }>;
  readonly uses: readonly Use[];
  /** Tools that are not used here, because another test has them as its subject. */
  readonly elsewhere: readonly string[];
  /** Puts everything the server keeps outside its process back to the beginning. */
  reset(): void;
}

const main = (name: string): string =>
  inRepository(`node_modules/@modelcontextprotocol/${name}/dist/index.js`);
const tool = (name: string, args: Json = {}): Use => ({
  method: "tools/call",
  params: { name, arguments: args },
});
const prompt = (name: string, args: Json = {}): Use => ({
  method: "prompts/get",
  params: { name, arguments: args },
});
const read = (uri: string): Use => ({ method: "resources/read", params: { uri } });
const complete = (ref: Json, name: string, value: string): Use => ({
  method: "completion/complete",
  params: { ref, argument: { name, value } },
});

const DOCUMENTS = [
  "architecture",
  "extension",
  "features",
  "how-it-works",
  "instructions",
  "startup",
  "structure",
];

const everything: RealServer = {
  name: "everything",
  place: { command: process.execPath, args: [main("server-everything")] },
  uses: [
    tool("echo", { message: "Grüße, 世界 \u2028 👩‍💻" }),
    tool("get-annotated-message", { messageType: "error", includeImage: true }),
    tool("get-env"),
    tool("get-resource-links", { count: 4 }),
    tool("get-resource-reference", { resourceType: "Text", resourceId: 3 }),
    tool("get-resource-reference", { resourceType: "Blob", resourceId: 4 }),
    tool("get-structured-content", { location: "Chicago" }),
    tool("get-sum", { a: 2, b: 40 }),
    tool("get-sum", { a: "two" }),
    tool("get-tiny-image"),
    tool("gzip-file-as-resource", { name: "a.gz", data: "data:text/plain,hello", outputType: "resource" }),
    tool("gzip-file-as-resource", {
      name: "b.gz",
      data: "data:text/plain,hello",
      outputType: "resourceLink",
    }),
    tool("toggle-simulated-logging"),
    tool("toggle-simulated-logging"),
    tool("toggle-subscriber-updates"),
    tool("toggle-subscriber-updates"),
    tool("trigger-long-running-operation", { duration: 0.2, steps: 2 }),
    prompt("simple-prompt"),
    prompt("args-prompt", { city: "Paris", state: "Texas" }),
    prompt("completable-prompt", { department: "Engineering", name: "Alice" }),
    prompt("resource-prompt", { resourceType: "Text", resourceId: "2" }),
    ...DOCUMENTS.map((name) => read(`demo://resource/static/document/${name}.md`)),
    read("demo://resource/dynamic/text/7"),
    read("demo://resource/dynamic/blob/8"),
    complete({ type: "ref/prompt", name: "completable-prompt" }, "department", "E"),
    complete({ type: "ref/resource", uri: "demo://resource/dynamic/text/{resourceId}" }, "resourceId", "1"),
  ],
  // It runs only as a task, which the gateway makes of a plain call: see tasks.test.ts.
  elsewhere: ["simulate-research-query"],
  reset() {},
};

/** server-filesystem on a folder of its own inside `folder`. */
function filesystem(folder: string): RealServer {
  const root = join(folder, "files");
  const at = (name: string): string => join(root, name);
  return {
    name: "files",
    place: { command: process.execPath, args: [main("server-filesystem"), root] },
    uses: [
      tool("list_allowed_directories"),
      tool("list_directory", { path: root }),
      tool("list_directory_with_sizes", { path: root, sortBy: "size" }),
      tool("directory_tree", { path: root }),
      tool("read_file", { path: at("a.txt") }),
      tool("read_text_file", { path: at("a.txt"), head: 1 }),
      tool("read_media_file", { path: at("dot.png") }),
      tool("read_multiple_files", { paths: [at("a.txt"), at("missing.txt")] }),
      tool("write_file", { path: at("new.txt"), content: "one\ntwo\n" }),
      tool("edit_file", { path: at("new.txt"), edits: [{ oldText: "two", newText: "three" }] }),
      tool("create_directory", { path: at("folder") }),
      tool("move_file", { source: at("new.txt"), destination: at("folder/moved.txt") }),
      tool("search_files", { path: root, pattern: "**/*.txt" }),
      tool("get_file_info", { path: at("a.txt") }),
      tool("read_file", { path: "/etc/hostname" }),
      tool("read_file", {}),
    ],
    elsewhere: [],
    reset() {
      rmSync(root, { recursive: true, force: true });
      mkdirSync(join(root, "deeper"), { recursive: true });
      writeFileSync(at("a.txt"), "first line\nsecond line\n");
      writeFileSync(at("deeper/b.txt"), "below");
      writeFileSync(at("dot.png"), Buffer.from("89504e470d0a1a0a", "hex"));
    },
  };
}

/** server-memory with its graph inside `folder`. */
function memory(folder: string): RealServer {
  const file = join(folder, "memory.jsonl");
  const entity = (name: string): Json => ({ name, entityType: "person", observations: [`${name} was here`] });
  const relation = { from: "Ada", to: "Bob", relationType: "knows" };
  return {
    name: "memory",
    place: { command: process.execPath, args: [main("server-memory")], env: { MEMORY_FILE_PATH: file } },
    uses: [
      tool("create_entities", { entities: [entity("Ada"), entity("Bob"), entity("Eve")] }),
      tool("create_relations", { relations: [relation] }),
      tool("add_observations", { observations: [{ entityName: "Ada", contents: ["likes hinges"] }] }),
      tool("add_observations", { observations: [{ entityName: "Nobody", contents: ["is not there"] }] }),
      tool("read_graph"),
      tool("search_nodes", { query: "hinges" }),
      tool("open_nodes", { names: ["Bob"] }),
      read("memory://knowledge-graph"),
      tool("delete_observations", { deletions: [{ entityName: "Ada", observations: ["likes hinges"] }] }),
      tool("delete_relations", { relations: [relation] }),
      tool("delete_entities", { entityNames: ["Eve"] }),
      read("memory://knowledge-graph"),
    ],
    elsewhere: [],
    reset: () => rmSync(file, { force: true }),
  };
}

/** All three, with what they keep inside `folder`; its path must be the same whenever answers are compared. */
export const realServers = (folder: string): readonly RealServer[] => [
  everything,
  filesystem(folder),
  memory(folder),
];
