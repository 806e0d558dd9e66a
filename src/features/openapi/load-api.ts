/** How is an OpenAPI document loaded without blocking the event loop? A large one is read in a worker thread. */
import { Worker } from "node:worker_threads";
import { GatewayError } from "../../core/errors.js";
import type { StopSignal } from "../../core/stop.js";
import type { AnswerMisfit } from "../../core/upstream.js";
import type { Network } from "../../outgoing/network.js";
import { scheduleStep } from "../../runtime/cooperative-yield.js";
import type { ChannelCredentials } from "../../upstream/transport/request-authorization.js";
import type { Redact } from "../../upstream/transport/server-words.js";
import { type ApiSettings, describeApi } from "./describe-api.js";
import { DocumentError, DocumentFiles, type DocumentPlace } from "./document-files.js";
import type { ThreadInput, ThreadMessage } from "./document-thread.js";
import type { ApiDescription, Operation } from "./operation.js";
import type { OpenApiTransport } from "./transport.js";

/** From this length (characters) on a document is read in a thread: YAML takes about 1 ms for 1 KB, and other calls would wait. */
const LARGE_DOCUMENT = 32 * 1024;

/** An API of the config. */
export interface ApiSource {
  /** The server's key in the config. */
  readonly name: string;
  readonly transport: OpenApiTransport;
  readonly connectTimeoutMs: number;
  /** Sent to the API, never to where the document is. Default: none but in the headers of the transport. */
  readonly credentials?: ChannelCredentials | undefined;
  /** The description that another connection has loaded. Default: it is loaded. */
  readonly known?: ApiDescription | undefined;
  /** Receives the description where it is loaded. */
  readonly onLoaded?: (api: ApiDescription) => void;
  /** Removes secrets from what the API says, before it is quoted. Default: unchanged. */
  readonly redact?: Redact | undefined;
  /** Called with each success that does not fit the output schema of its tool. */
  readonly onMisfit?: ((misfit: AnswerMisfit) => void) | undefined;
}

/** Loads the document. @throws GatewayError `upstream_unavailable` with what is wrong, `cancelled` */
export async function loadApi(source: ApiSource, signal: StopSignal): Promise<ApiDescription> {
  const { name, transport, connectTimeoutMs, credentials, redact } = source;
  const { document, baseUrl, headers, include, exclude } = transport;
  const isAtApi = "url" in document && isOrigin(document.url, baseUrl ?? document.url);
  const place: DocumentPlace = {
    name,
    document:
      "url" in document ? { url: document.url } : { file: document.file, configFiles: document.configFiles },
    headers: isAtApi ? headers : {},
    network: documentNetwork(transport.network, isAtApi),
    connectTimeoutMs,
  };
  const carried = (transport.forwardHeaders ?? []).map(({ to }) => to);
  const names = [...Object.keys(headers).map((header) => header.toLowerCase()), ...carried];
  const settings: ApiSettings = {
    baseUrl,
    headers: names,
    hasCredentials: names.length > 0 || credentials !== undefined,
    include,
    exclude,
  };
  const files = new DocumentFiles(place, signal, redact ?? ((text) => text));
  try {
    const text = await files.read(files.url);
    return text.length < LARGE_DOCUMENT
      ? await describeApi(text, files, settings)
      : await describeInThread({ text, place, settings }, signal);
  } catch (error) {
    if (!(error instanceof DocumentError)) throw error;
    throw new GatewayError("upstream_unavailable", "upstream", `${name} ${error.message}`, {
      server: name,
      cause: error,
      retryable: false,
    });
  } finally {
    await files.close();
  }
}

const isOrigin = (url: string, other: string): boolean => new URL(url).origin === new URL(other).origin;

/** The certificates of the client and the name are for the origin of the API, as its headers are. */
function documentNetwork(network: Network | undefined, isAtApi: boolean): Network | undefined {
  if (network?.tls === undefined || isAtApi) return network;
  const { tls, ...others } = network;
  return { ...others, ...(tls.ca !== undefined && { tls: { ca: tls.ca } }) };
}

function describeInThread(input: ThreadInput, signal: StopSignal): Promise<ApiDescription> {
  const worker = new Worker(new URL("./document-thread.js", import.meta.url), { workerData: input });
  const stop = (): void => void worker.terminate();
  signal.addEventListener("abort", stop);
  const { name } = input.place;
  const failed = (sentence: string, cause?: unknown): GatewayError =>
    new GatewayError("upstream_unavailable", "upstream", `${name} ${sentence}`, {
      server: name,
      cause,
      retryable: true,
    });
  return new Promise<ApiDescription>((resolve, reject) => {
    const operations: Operation[] = [];
    worker.on("message", (message: ThreadMessage) => {
      if ("operations" in message) {
        operations.push(...message.operations);
        // The thread waits for it.
        scheduleStep(() => worker.postMessage("next"));
      } else if ("done" in message) resolve({ ...message.done, operations });
      else
        reject(
          message.isDocumentError
            ? new DocumentError(message.failed)
            : new GatewayError("upstream_unavailable", "upstream", message.failed, {
                server: name,
                retryable: true,
              }),
        );
    });
    worker.on("error", (error) => reject(failed("has a document that could not be read", error)));
    // After a result this is too late to matter.
    worker.on("exit", () =>
      reject(
        signal.aborted
          ? new GatewayError("cancelled", "gateway", "the attempt to connect was cancelled")
          : failed("has a document that could not be read: its thread ended"),
      ),
    );
  }).finally(() => signal.removeEventListener("abort", stop));
}
