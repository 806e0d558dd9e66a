/** How are the files of an OpenAPI document read? Only those beside it: in its folder, or at its own origin. */
import { constants } from "node:fs";
import { type FileHandle, open, realpath, stat } from "node:fs/promises";
import { dirname, extname, relative, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { StopSignal } from "../../core/stop.js";
import type { Network } from "../../outgoing/network.js";
import type { Headers } from "../../upstream/transport/channel.js";
import { HttpPool } from "../../upstream/transport/http-pool.js";
import { HttpTarget } from "../../upstream/transport/http-target.js";
import { headerOf } from "../../upstream/transport/message-bodies.js";
import { quotedWords, type Redact } from "../../upstream/transport/server-words.js";
import { exchangeWithApi } from "./api-exchange.js";

/** The document cannot be used; the message is the end of a sentence that begins with the server's name. */
export class DocumentError extends Error {
  override readonly name = "DocumentError";
}

/** Where a document is. Plain data, which a worker thread can be given. */
export interface DocumentPlace {
  /** The server's key in the config, for messages. */
  readonly name: string;
  readonly document:
    | { readonly url: string }
    /** `configFiles`: those that the config came from, which no document may refer to; absolute paths. */
    | { readonly file: string; readonly configFiles?: readonly string[] | undefined };
  /** Sent to the document's origin; absent where the config sends them to another one. */
  readonly headers: Headers;
  readonly connectTimeoutMs: number;
  /** Of the requests for it. Default: none. */
  readonly network?: Network | undefined;
}

/** The most bytes of all files of a document together; as of one answer of a server. */
const MAX_BYTES = 64 * 1024 * 1024;
/** The most files of one document. */
const MAX_FILES = 1_000;

/** Reads the files of one document. */
export class DocumentFiles {
  /** The URL of the document, `file:` or `http:`; references are relative to it. */
  readonly url: string;
  readonly #place: DocumentPlace;
  readonly #signal: StopSignal | undefined;
  readonly #redact: Redact | undefined;
  #pool: HttpPool | undefined;
  #bytes = 0;
  #files = 0;

  /** @param redact removes secrets from the words of a server that has no document; undefined: they are not quoted */
  constructor(place: DocumentPlace, signal?: StopSignal, redact?: Redact) {
    this.#place = place;
    this.#signal = signal;
    this.#redact = redact;
    this.url = "url" in place.document ? place.document.url : pathToFileURL(place.document.file).href;
  }

  /**
   * The text of the document, or of a file that it refers to.
   *
   * @throws DocumentError when it may not or cannot be read; GatewayError when its server cannot be reached
   */
  async read(url: string): Promise<string> {
    const bytes = this.url.startsWith("file:") ? await this.#readFile(url) : await this.#download(url);
    this.#bytes += bytes.length;
    this.#files += 1;
    if (this.#bytes > MAX_BYTES) throw new DocumentError(`has a document longer than ${MAX_BYTES} bytes`);
    if (this.#files > MAX_FILES) throw new DocumentError(`has a document of more than ${MAX_FILES} files`);
    return bytes.toString("utf8").replace(/^\uFEFF/, "");
  }

  async close(): Promise<void> {
    await this.#pool?.destroy();
  }

  async #readFile(url: string): Promise<Buffer> {
    const shown = pathOf(url);
    if (shown === undefined) throw outside(url, IN_FOLDER);
    try {
      const file = await realpath(shown);
      if (url !== this.url) await this.#checkReferenced(shown, file);
      // Opening a pipe would wait for its writer.
      const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
      try {
        return await this.#contentOf(handle, shown, url === this.url);
      } finally {
        await handle.close();
      }
    } catch (error) {
      if (error instanceof DocumentError) throw error;
      const code = error instanceof Error && "code" in error ? ` (${String(error.code)})` : "";
      throw new DocumentError(`has a document that cannot be read: ${shown}${code}`);
    }
  }

  /** `file` is where `shown` leads; neither may be hidden, or outside of the folder. */
  async #checkReferenced(shown: string, file: string): Promise<void> {
    const main = fileURLToPath(this.url);
    // The document may be a link to another folder, where its parts are too: `..data` in a Kubernetes ConfigMap.
    const folders = [await realpath(dirname(main)), dirname(await realpath(main))];
    const real = folders.map((folder) => relative(folder, file)).findLast((way) => !leaves(way, file));
    const named = relative(dirname(main), shown);
    if (real === undefined || leaves(named, shown)) throw outside(shown, IN_FOLDER);
    const ways = [real, named];
    if (ways.some((way) => way.split(sep).some((part) => part.startsWith("."))))
      throw outside(shown, "hidden files and folders are never a part of a document");
    if (ways.some((way) => !PARTS.has(extname(way).toLowerCase())))
      throw outside(shown, "a document refers to .json, .yaml and .yml files");
  }

  async #contentOf(handle: FileHandle, shown: string, isMain: boolean): Promise<Buffer> {
    const found = await handle.stat();
    if (!found.isFile()) throw new DocumentError(`has a document at ${shown}, which is no file`);
    if (found.size > MAX_BYTES) throw new DocumentError(`has a document longer than ${MAX_BYTES} bytes`);
    const { document } = this.#place;
    const configFiles = "file" in document && !isMain ? (document.configFiles ?? []) : [];
    for (const path of configFiles) {
      // By identity, as a file may have several names.
      const one = await stat(path).catch(() => undefined);
      if (one !== undefined && one.dev === found.dev && one.ino === found.ino)
        throw outside(shown, "files of the config are never a part of a document");
    }
    return await handle.readFile();
  }

  async #download(url: string): Promise<Buffer> {
    const { name, headers, connectTimeoutMs, network } = this.#place;
    const { origin, pathname, search } = new URL(url);
    if (origin !== new URL(this.url).origin)
      throw outside(origin, "a document refers to files at its own origin");
    this.#pool ??= new HttpPool({ url: this.url, network, connectTimeoutMs });
    const target = new HttpTarget(
      { name, url: this.url, headers, connectTimeoutMs, redact: this.#redact },
      this.#pool,
    );
    const accept = "application/json, application/yaml, */*;q=0.5";
    const answer = await exchangeWithApi(
      target,
      { method: "GET", path: `${pathname}${search}`, headers: { accept, ...target.headers } },
      this.#signal,
    );
    if (answer.status === 200) return answer.body;
    const location = headerOf(answer.headers, "location");
    const to = location === undefined ? "" : `, to ${location}; write that address in the config`;
    const redact = this.#redact;
    const words = redact === undefined ? "" : quotedWords(answer.headers, answer.body, redact);
    throw new DocumentError(
      `has no document at ${origin}${pathname}: HTTP status ${answer.status}${answer.status < 400 ? to : words}`,
    );
  }
}

/** The path of a `file:` URL; undefined where there is none: another scheme, another host, an encoded slash. */
function pathOf(url: string): string | undefined {
  if (!url.startsWith("file:")) return undefined;
  try {
    return fileURLToPath(url);
  } catch {
    return undefined;
  }
}

/** Whether the way from a folder to `file` is none that goes down. */
const leaves = (way: string, file: string): boolean =>
  way === "" || way === ".." || way.startsWith(`..${sep}`) || way === file;

const IN_FOLDER = "a document on the disk refers to files in its own folder";
/** The names of files that a document may refer to. */
const PARTS: ReadonlySet<string> = new Set([".json", ".yaml", ".yml"]);

const outside = (where: string, rule: string): DocumentError =>
  new DocumentError(`has a document that refers to ${where}, which is not read: ${rule}`);
