/** Which replicas run, where they are the addresses of a DNS name, such as that of a headless Service? */
import { lookup } from "node:dns/promises";
import { request } from "node:http";
import { isIPv6 } from "node:net";
import type { Replica, ReplicaDirectory } from "../core/cluster.js";
import { inBackground, type Logger } from "../core/logger.js";
import { isObject, stringAt } from "../wire/json.js";
import { parseJson } from "../wire/json-text.js";
import type { PeerKey } from "./peer-key.js";
import { REPLICA_PATH } from "./peer-listener.js";

/** Where to look, and as whom. */
export interface DnsDirectoryOptions {
  readonly id: string;
  readonly name: string;
  readonly port: number;
  readonly key: PeerKey;
  readonly logger: Logger;
  /** The addresses of a name. Default: those of the system. */
  readonly resolve?: (name: string) => Promise<readonly string[]>;
  /** What the replica at a URL says of itself; undefined where none answers. Default: by HTTP. */
  readonly ask?: (url: string) => Promise<Replica | undefined>;
}

/** How often the name is resolved, in ms; for an unknown id at most once in the second time. */
const EVERY_MS = 5_000;
const REFRESH_MS = 1_000;
const ANSWER_MS = 1_000;
const MAX_PAGE_BYTES = 4_096;

/** The directory of this replica; a replica whose address is gone is gone. */
export class DnsDirectory implements ReplicaDirectory {
  readonly own: string;
  #others: ReadonlyMap<string, Replica> = new Map();
  #timer: NodeJS.Timeout | undefined;
  #reading: Promise<void> | undefined;
  #readAt = Number.NEGATIVE_INFINITY;
  #failed = false;

  constructor(private readonly options: DnsDirectoryOptions) {
    this.own = options.id;
  }

  get count(): number {
    return this.#others.size + 1;
  }

  others(): readonly Replica[] {
    return [...this.#others.values()];
  }

  async find(issuer: string): Promise<Replica | undefined> {
    const known = this.#others.get(issuer);
    if (known !== undefined || performance.now() - this.#readAt < REFRESH_MS) return known;
    await this.#read();
    return this.#others.get(issuer);
  }

  start(): void {
    const read = () => inBackground(this.#read(), this.options.logger, "finding the replicas");
    this.#timer = setInterval(read, EVERY_MS);
    this.#timer.unref();
    read();
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#reading;
  }

  #read(): Promise<void> {
    this.#reading ??= this.#readOnce().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #readOnce(): Promise<void> {
    const {
      name,
      port,
      logger,
      resolve = addressesOf,
      ask = (url) => askByHttp(url, this.options),
    } = this.options;
    let addresses: readonly string[];
    try {
      addresses = await resolve(name);
    } catch (error) {
      if (!this.#failed) logger.warn({ name, error }, "the name of the replicas cannot be resolved");
      this.#failed = true;
      return;
    }
    this.#failed = false;
    const urls = addresses.map((address) => `http://${isIPv6(address) ? `[${address}]` : address}:${port}`);
    const found = await Promise.all(urls.map(ask));
    const others = found.filter((replica) => replica !== undefined && replica.id !== this.own);
    this.#others = new Map(others.map((replica) => [replica?.id ?? "", replica as Replica]));
    this.#readAt = performance.now();
  }
}

const addressesOf = async (name: string): Promise<readonly string[]> =>
  (await lookup(name, { all: true })).map(({ address }) => address);

/** What the replica at `url` says of itself; undefined where none answers in time. */
export function askByHttp(
  url: string,
  { id, key }: Pick<DnsDirectoryOptions, "id" | "key">,
): Promise<Replica | undefined> {
  return new Promise((resolve) => {
    const [name, value] = key.header(id, 1, "GET", REPLICA_PATH);
    const asked = request(`${url}${REPLICA_PATH}`, { headers: { [name]: value }, agent: false }, (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk;
        if (text.length > MAX_PAGE_BYTES) asked.destroy();
      });
      answer.once("end", () => resolve(replicaOf(url, text)));
      answer.once("error", () => resolve(undefined));
    });
    asked.setTimeout(ANSWER_MS, () => asked.destroy());
    asked.once("error", () => resolve(undefined));
    asked.once("close", () => resolve(undefined));
    asked.end();
  });
}

function replicaOf(url: string, text: string): Replica | undefined {
  let page: unknown;
  try {
    page = parseJson(text);
  } catch {
    return undefined;
  }
  const id = isObject(page) ? stringAt(page, "id") : undefined;
  if (!isObject(page) || id === undefined) return undefined;
  return { id, url, version: stringAt(page, "version") ?? "", isLeaving: page.isLeaving === true };
}
