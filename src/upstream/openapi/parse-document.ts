/** How does the text of an OpenAPI document become one object, with the files that it refers to in it? */
import { isObject, type JsonObject, stringAt } from "../../wire/json.js";
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
  return EXTERNAL_REFERENCE.test(text) ? bundle(document, files) : document;
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
    // The first line says what and where; the others show the text.
    const why = error instanceof Error ? (error.message.split("\n")[0] ?? "") : "";
    const where = url.slice(url.lastIndexOf("/") + 1).split("?")[0];
    throw new DocumentError(`has a document that is neither JSON nor YAML (${where}): ${why}`);
  }
}

/** Takes what other files hold into the document. */
async function bundle(document: JsonObject, files: DocumentFiles): Promise<JsonObject> {
  const { $RefParser } = await import("@apidevtools/json-schema-ref-parser");
  // The library reports an error of its own, which does not say why.
  let refusal: unknown;
  const read = async ({ url }: { readonly url: string }): Promise<string> => {
    try {
      return await files.read(url);
    } catch (error) {
      refusal ??= error;
      throw error;
    }
  };
  const parse = async ({ data, url }: { readonly data: unknown; readonly url: string }): Promise<unknown> => {
    try {
      return await parseText(String(data), url);
    } catch (error) {
      refusal ??= error;
      throw error;
    }
  };
  try {
    const whole = await $RefParser.bundle(files.url, document as object, {
      // The only reader: it refuses what is not beside the document.
      resolve: { file: false, http: false, beside: { order: 1, canRead: true, read } },
      parse: {
        ...{ json: false, yaml: false, text: false, binary: false },
        document: { order: 1, canParse: true, parse },
      },
    });
    return whole as JsonObject;
  } catch (error) {
    if (refusal !== undefined) throw refusal;
    const why = error instanceof Error ? (error.message.split("\n")[0] ?? "") : "";
    throw new DocumentError(`has a document whose references cannot be resolved: ${why}`);
  }
}
