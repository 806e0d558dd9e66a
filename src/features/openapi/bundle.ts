/** How do the files that a document refers to become a part of it? Only references where OpenAPI has them are followed. */
import { randomUUID } from "node:crypto";
import { isObject, type JsonObject } from "../../wire/json.js";
import { DocumentError, type DocumentFiles } from "./document-files.js";
import { innerObjects, type ObjectKind, objectFlaw } from "./openapi-objects.js";
import { References } from "./references.js";

/** One file: the document itself, or one that it refers to. */
interface OneFile {
  readonly url: string;
  /** What references to it begin with in the whole document. */
  readonly prefix: string;
  readonly content: unknown;
  readonly references: References;
  /** False where it is a part of a document, whose objects must be objects of OpenAPI. */
  readonly isDocument: boolean;
}

interface Place {
  readonly value: unknown;
  readonly kind: ObjectKind;
  readonly file: OneFile;
  /** True where a reference leads here. */
  readonly isTarget: boolean;
}

/**
 * The document with all files that its references lead to. `document` was parsed for this and is changed.
 *
 * @param parse the content of a file
 * @throws DocumentError; what reading a file throws
 */
export async function bundle(
  document: JsonObject,
  files: DocumentFiles,
  parse: (text: string, url: string) => Promise<unknown>,
): Promise<JsonObject> {
  const main = {
    url: files.url,
    prefix: "#",
    content: document,
    references: new References(document),
    isDocument: true,
  };
  const known = new Map<string, OneFile>([[main.url, main]]);
  // The member that has the other files. A document that knew its name could refer to what is not checked in them.
  const filesName = `x-cardea-files-${randomUUID()}`;
  const names = new Set<string>();
  const fileAt = async (url: string): Promise<OneFile> => {
    const before = known.get(url);
    if (before !== undefined) return before;
    const content = await parse(await files.read(url), url);
    if (!isObject(content))
      throw new DocumentError(`has a document that refers to ${url}, which is no object`);
    const prefix = `#/${filesName}/${freeName(url, names)}`;
    const isDocument = typeof content.openapi === "string";
    const file = { url, prefix, content, references: new References(content), isDocument };
    known.set(url, file);
    return file;
  };
  const seen = new Set<unknown>();
  const waiting: Place[] = [{ value: document, kind: "document", file: main, isTarget: false }];
  for (let place = waiting.pop(); place !== undefined; place = waiting.pop()) {
    const { value, kind, file } = place;
    if (value === undefined) continue;
    if (!file.isDocument) checkObject(place);
    if (!isObject(value) || seen.has(value)) continue;
    seen.add(value);
    const { $ref: ref } = value;
    if (typeof ref === "string") {
      const { target, pointer } = await followed(ref, file, fileAt);
      (value as { $ref: string }).$ref = `${target.prefix}${pointer}`;
      waiting.push({ value: target.references.at(`#${pointer}`), kind, file: target, isTarget: true });
    }
    for (const inner of innerObjects(value, kind)) waiting.push({ ...inner, file, isTarget: false });
  }
  const others = [...known.values()].filter((file) => file !== main);
  return others.length === 0
    ? document
    : {
        ...document,
        [filesName]: Object.fromEntries(
          others.map(({ prefix, content }) => [prefix.slice(filesName.length + 3), content]),
        ),
      };
}

/** The file of a reference, and the pointer into it. */
async function followed(
  ref: string,
  file: OneFile,
  fileAt: (url: string) => Promise<OneFile>,
): Promise<{ readonly target: OneFile; readonly pointer: string }> {
  const hash = ref.indexOf("#");
  const [path, pointer] = hash < 0 ? [ref, ""] : [ref.slice(0, hash), ref.slice(hash + 1)];
  if (path === "") return { target: file, pointer };
  if (!URL.canParse(path, file.url))
    throw new DocumentError(`has a document that refers to ${path.slice(0, 200)}, which is no address`);
  const url = new URL(path, file.url);
  url.hash = "";
  return { target: await fileAt(url.href), pointer };
}

function checkObject({ value, kind, file, isTarget }: Place): void {
  const flaw = objectFlaw(value, kind, isTarget);
  if (flaw === undefined) return;
  throw new DocumentError(
    `has a document that refers to ${file.url}, where it needs a ${kind}: what is there ${flaw}; only files that say "openapi", and parts of such files, are read`,
  );
}

/** A name for the file that definitions can have: `pet` for `schemas/pet.yaml`. */
function freeName(url: string, taken: Set<string>): string {
  const base = new URL(url).pathname.split("/").pop() ?? "";
  const name = base.replace(/\.[^.]*$/, "").replace(/[^\w-]/g, "_") || "file";
  let free = name;
  for (let number = 2; taken.has(free); number++) free = `${name}_${number}`;
  taken.add(free);
  return free;
}
