/**
 * What replicas tell and ask each other over connections on which both have proven the key: what must be believed is never
 * taken from the store.
 */
import { type IncomingMessage, request as openHttp, type ServerResponse } from "node:http";
import { LRUCache } from "lru-cache";
import type { Logger } from "../../core/logger.js";
import type { Replica, ReplicaDirectory } from "../../core/replicas.js";
import { isObject, type JsonObject, objectAt, stringAt } from "../../wire/json.js";
import { parseJson, writeJson } from "../../wire/json-text.js";
import type { PeerConnections } from "./peer-connections.js";

/** The path of messages. */
export const MESSAGE_PATH = "/cluster/message";
/** The topic of a replica that has started. */
const ANNOUNCED = "announced";
/** Of a message and of an answer, in bytes. */
const MAX_LENGTH = 4 * 1024 * 1024;
/** Time limit (ms) of an answer. */
const ANSWER_MS = 1_000;
/** A replica that did not answer is not asked again for this time (ms): each question would wait for it. */
const SILENT_MS = 2_000;
/** One that the directory has lost and that has not answered for this time (ms) has ended. */
const ENDED_MS = 60_000;
const MAX_KNOWN = 200;
/** Nothing listens at the address, or another replica: its process has ended. */
const ENDED: ReadonlySet<unknown> = new Set(["ECONNREFUSED", "EREPLACED"]);

/** What the others answered. */
export interface PeerReplies {
  readonly answers: readonly { readonly from: string; readonly answer: JsonObject }[];
  /** Replicas that may run and did not answer. */
  readonly unreached: readonly string[];
}

/** Asks the other replicas. */
export interface PeerMessages {
  /** Asks these, by default all others; never rejects. */
  ask(topic: string, message: JsonObject, replicas?: readonly Replica[]): Promise<PeerReplies>;
  /** All others that may run: also those that the directory has lost, as it may have been made to. */
  others(): readonly Replica[];
  /** Answers what others ask about `topic`. */
  answer(topic: string, answer: (message: JsonObject, from: string) => JsonObject): void;
}

/** Answers requests at the listener for replicas. */
export interface PeerAnswers {
  /** The connection has proven that `from` asks. */
  serve(request: IncomingMessage, response: ServerResponse, from: string): void;
}

/** Another replica. Times are by `performance.now()`. */
interface KnownReplica {
  readonly replica: Replica;
  /** Since when it has not answered. */
  readonly failedAt?: number;
  readonly silentUntil?: number;
}

/** The messages of one replica. It remembers replicas that it has seen once, also without their registrations. */
export class HttpMessages implements PeerMessages, PeerAnswers {
  readonly #answers = new Map<string, (message: JsonObject, from: string) => JsonObject>();
  readonly #known = new LRUCache<string, KnownReplica>({ max: MAX_KNOWN });
  #url = "";

  constructor(
    private readonly directory: () => Pick<ReplicaDirectory, "others">,
    private readonly connections: PeerConnections,
    private readonly logger: Logger,
    /** Called with each replica that announces itself. */
    private readonly onAnnounced: (replica: Replica) => void,
  ) {}

  /** Others reach this replica at `url`: they need not wait until they read its registration. */
  async announce(url: string): Promise<void> {
    this.#url = url;
    await this.ask(ANNOUNCED, {});
  }

  others(): readonly Replica[] {
    for (const replica of this.directory().others()) {
      const { failedAt } = this.#known.get(replica.id) ?? {};
      this.#known.set(replica.id, { replica, ...(failedAt !== undefined && { failedAt }) });
    }
    return [...this.#known.values()].map(({ replica }) => replica);
  }

  async ask(topic: string, message: JsonObject, replicas = this.others()): Promise<PeerReplies> {
    const body = Buffer.from(writeJson({ topic, message, url: this.#url }));
    const answers: { from: string; answer: JsonObject }[] = [];
    const unreached: string[] = [];
    const each = async (replica: Replica): Promise<void> => {
      const { id } = replica;
      const { silentUntil = 0 } = this.#known.get(id) ?? {};
      if (silentUntil > performance.now()) {
        unreached.push(id);
        return;
      }
      try {
        answers.push({ from: id, answer: await this.#post(replica, body) });
        this.#known.set(id, { replica });
      } catch (error) {
        if (this.#hasEnded(replica, error)) return;
        this.logger.debug({ error, replica: id }, "a replica did not answer another one");
        unreached.push(id);
      }
    };
    await Promise.all(replicas.map(each));
    return { answers, unreached };
  }

  answer(topic: string, answer: (message: JsonObject, from: string) => JsonObject): void {
    this.#answers.set(topic, answer);
  }

  serve(request: IncomingMessage, response: ServerResponse, from: string): void {
    readText(request).then(
      (text) => {
        const said = objectIn(text);
        const answer = this.#answers.get(stringAt(said, "topic") ?? "");
        const message = objectAt(said, "message");
        this.#learn(from, stringAt(said, "url") ?? "");
        // A replica of another version may ask what this one does not know.
        const found = answer === undefined || message === undefined ? {} : answer(message, from);
        response.writeHead(200, { "content-type": "application/json" }).end(writeJson(found));
      },
      () => response.destroy(),
    );
  }

  /** A replica that asks is one to ask, whether or not it is registered. */
  #learn(id: string, url: string): void {
    if (this.#known.has(id) || !URL.canParse(url)) return;
    const replica = { id, url, version: "", isLeaving: false };
    this.#known.set(id, { replica });
    this.onAnnounced(replica);
  }

  /** After a question without an answer: whether the replica has certainly ended. */
  #hasEnded(replica: Replica, error: unknown): boolean {
    const now = performance.now();
    const failedAt = this.#known.get(replica.id)?.failedAt ?? now;
    const isOver = error instanceof Error && "code" in error && ENDED.has(error.code);
    if (isOver || now - failedAt > ENDED_MS) this.#known.delete(replica.id);
    else this.#known.set(replica.id, { replica, failedAt, silentUntil: now + SILENT_MS });
    return isOver;
  }

  async #post({ id, url }: Replica, body: Buffer): Promise<JsonObject> {
    const { key, id: from } = this.connections;
    const [name, value] = key.requests.header({ from, to: id, hops: 1 }, "POST", MESSAGE_PATH);
    const headers = { [name]: value, "content-type": "application/json", "content-length": body.length };
    const { hostname: host, port } = new URL(url);
    const asked = openHttp({
      ...{ method: "POST", host, port, path: MESSAGE_PATH, headers },
      agent: this.connections.agentOf(url, id),
    });
    const late = setTimeout(() => asked.destroy(new Error(`no answer within ${ANSWER_MS} ms`)), ANSWER_MS);
    try {
      const answered = new Promise<IncomingMessage>((resolve, reject) => {
        asked.once("response", resolve).once("error", reject);
      });
      asked.end(body);
      const answer = await answered;
      const text = await readText(answer);
      if (answer.statusCode !== 200)
        throw new Error(`replica ${id} answered with status ${answer.statusCode}`);
      return objectIn(text);
    } finally {
      clearTimeout(late);
    }
  }
}

async function readText(stream: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > MAX_LENGTH) throw new Error("a message of a replica is too long");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function objectIn(text: string): JsonObject {
  const value = parseJson(text);
  if (!isObject(value)) throw new Error("a message of a replica is no object");
  return value;
}
