/** What is read from an OpenAPI document? Its operations, and where the API is. */

import { objectAt, stringAt } from "../../wire/json.js";
import { baseUrlOf, serverUrl } from "./base-url.js";
import type { DocumentFiles } from "./document-files.js";
import type { ApiDescription } from "./operation.js";
import { readOperations } from "./operations.js";
import { parseDocument } from "./parse-document.js";
import type { OperationFilter } from "./transport.js";

/** What the config says of an API. Plain data, which a worker thread can be given. */
export interface ApiSettings {
  readonly baseUrl?: string | undefined;
  /** The names of the configured headers, in lower case. */
  readonly headers: readonly string[];
  /** True where requests carry `headers`, or tokens of a sign-in. */
  readonly hasCredentials: boolean;
  readonly include?: OperationFilter | undefined;
  readonly exclude?: OperationFilter | undefined;
}

/** Describes the API of `text`, the document that `files` reads. @throws DocumentError, GatewayError */
export async function describeApi(
  text: string,
  files: DocumentFiles,
  settings: ApiSettings,
): Promise<ApiDescription> {
  const document = await parseDocument(text, files);
  const { url: baseUrl, mustBePublic } = baseUrlOf(document, {
    baseUrl: settings.baseUrl,
    documentUrl: files.url,
    hasCredentials: settings.hasCredentials,
  });
  const { origin, searchParams } = new URL(baseUrl);
  const isOwnServer = (url: string): boolean => serverUrl({ url }, files.url)?.origin === origin;
  const info = objectAt(document, "info");
  return {
    title: stringAt(info, "title") ?? "",
    version: stringAt(info, "version") ?? "",
    baseUrl,
    mustBePublic,
    ...readOperations(document, {
      include: settings.include,
      exclude: settings.exclude,
      configured: {
        headers: new Set(settings.headers),
        query: new Set([...searchParams.keys()].map((name) => name.toLowerCase())),
      },
      ...(settings.baseUrl === undefined && { isOwnServer }),
    }),
  };
}
