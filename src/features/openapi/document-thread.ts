/** The worker thread that reads a large OpenAPI document, so that the event loop of the gateway is not blocked. */
import { parentPort, workerData } from "node:worker_threads";
import { type ApiSettings, describeApi } from "./describe-api.js";
import { DocumentError, DocumentFiles, type DocumentPlace } from "./document-files.js";
import type { ApiDescription, Operation } from "./operation.js";

/** What the thread is given. */
export interface ThreadInput {
  readonly text: string;
  readonly place: DocumentPlace;
  readonly settings: ApiSettings;
}

/** What the thread posts: operations in portions, then the rest; or why there is none. */
export type ThreadMessage =
  | { readonly operations: readonly Operation[] }
  | { readonly done: Omit<ApiDescription, "operations"> }
  | { readonly failed: string; readonly isDocumentError: boolean };

/** Operations in one message. */
const PORTION = 25;

const post = (message: ThreadMessage): void => parentPort?.postMessage(message);

/**
 * Resolves when the gateway has a turn of its event loop for the next portion: it would read all messages that wait in one
 * turn.
 */
const taken = (): Promise<void> => new Promise((resolve) => parentPort?.once("message", () => resolve()));

const { text, place, settings } = workerData as ThreadInput;
const files = new DocumentFiles(place);
try {
  const { operations, ...done } = await describeApi(text, files, settings);
  for (let at = 0; at < operations.length; at += PORTION) {
    post({ operations: operations.slice(at, at + PORTION) });
    await taken();
  }
  post({ done });
} catch (error) {
  const failed = error instanceof Error ? error.message : "failed";
  post({ failed, isDocumentError: error instanceof DocumentError });
} finally {
  await files.close();
}
