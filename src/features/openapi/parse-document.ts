/** How does the text of an OpenAPI document become one object, with the files that it refers to in it? */
import { isObject, type JsonObject, stringAt } from "../../wire/json.js";
import { bundle } from "./bundle.js";
import { DocumentError, type DocumentFiles } from "./document-files.js";

/** A reference to another file, or something that looks like one. */
const EXTERNAL_REFERENCE = /\$ref["']?\s*:\s*["']?[^#"'\s]/;

/**
 * Parses a document (JSON or YAML), and checks that it is OpenAPI 3.
 *
 * @throws DocumentError; what reading another file throws
 */
export async function parseDocument(text: string, files: DocumentFiles): Promise<JsonObject> {
  const document = await parseText(text, files.url);
  if (!isObject(document))
    throw new DocumentError("has a document that is no object: an OpenAPI document is one");
  checkVersion(document);
  return EXTERNAL_REFERENCE.test(text) ? bundle(document, files, parseText) : document;
}

function checkVersion(document: JsonObject): void {
  const version = stringAt(document, "openapi");
  if (version !== undefined && /^3\.\d/.test(version)) return;
  if (document.swagger !== undefined)
    throw new DocumentError(
      "has a document of Swagger 2.0; convert it to OpenAPI 3 first (editor.swagger.io and swagger2openapi do)",
    );
  throw new DocumentError(
    version === undefined
      ? 'has a document without "openapi": it is no OpenAPI document'
      : `has a document of OpenAPI ${version.slice(0, 20)}; 3.0 and 3.1 are read`,
  );
}

/** The `yaml` package is loaded only for YAML. */
async function parseText(text: string, url: string): Promise<unknown> {
  try {
    if (/^\s*[{[]/.test(text)) return JSON.parse(text) as unknown;
    const { parse } = await import("yaml");
    return parse(text, { maxAliasCount: 1_000 }) as unknown;
  } catch (error) {
    // The first line says what and where; the others show the text, as JSON's does in quotes.
    const [line = ""] = error instanceof Error ? error.message.split("\n") : [];
    const why = line.replace(/,? ?(\.\.\.)?".*"(\.\.\.)?( is not valid JSON)/s, "$3");
    const where = url.slice(url.lastIndexOf("/") + 1).split("?")[0];
    throw new DocumentError(`has a document that is neither JSON nor YAML (${where}): ${why}`);
  }
}
