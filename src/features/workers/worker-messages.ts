/** What features of workers tell and ask each other: by the primary process, which passes their messages on. */
import type { FeatureMessages } from "../../core/replicas.js";
import { isObject, type JsonObject, numberOf, objectAt, stringAt } from "../../wire/json.js";
import { parseJson, writeJson } from "../../wire/json-text.js";

/** Time limit (ms) of the answers. */
const ANSWER_MS = 1_000;

/** From one worker to another one, or to all others: JSON, whose numbers stay as they were written. */
export interface WorkerMessage {
  readonly kind: "tell";
  /** Absent: all others. */
  readonly to?: number | undefined;
  readonly text: string;
}

/** As it arrives. */
export interface ToldMessage {
  readonly kind: "told";
  readonly from: number;
  readonly text: string;
}

interface OpenQuestion {
  readonly answers: JsonObject[];
  readonly onAnswer: () => void;
}

/** The messages of one worker. */
export class WorkerMessages implements FeatureMessages {
  readonly own: string;
  readonly #others: number;
  readonly #send: (message: WorkerMessage) => void;
  readonly #answers = new Map<string, (message: JsonObject) => JsonObject>();
  /** Each ends with its answers, or with their time limit. */
  readonly #asked = new Map<number, OpenQuestion>();
  #lastId = 0;

  constructor(
    { number, count }: { readonly number: number; readonly count: number },
    send: (message: WorkerMessage) => void,
  ) {
    this.own = String(number);
    this.#others = count - 1;
    this.#send = send;
  }

  answer(topic: string, answer: (message: JsonObject) => JsonObject): void {
    this.#answers.set(topic, answer);
  }

  /** A worker that is restarting does not answer, and the others wait for it until the time limit. */
  ask(topic: string, message: JsonObject): Promise<readonly JsonObject[]> {
    if (this.#others === 0) return Promise.resolve([]);
    this.#lastId += 1;
    const id = this.#lastId;
    const answers: JsonObject[] = [];
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        this.#asked.delete(id);
        resolve(answers);
      };
      const timer = setTimeout(end, ANSWER_MS);
      const onAnswer = (): void => {
        if (answers.length === this.#others) end();
      };
      this.#asked.set(id, { answers, onAnswer });
      this.#send({ kind: "tell", text: writeJson({ id, topic, message }) });
    });
  }

  /** A message has come. */
  receive({ from, text }: ToldMessage): void {
    const told = parseJson(text);
    if (!isObject(told)) return;
    const id = numberOf(told.id) ?? 0;
    const topic = stringAt(told, "topic");
    if (topic === undefined) this.#onAnswer(id, objectAt(told, "answer") ?? {});
    else {
      const answer = this.#answers.get(topic)?.(objectAt(told, "message") ?? {}) ?? {};
      this.#send({ kind: "tell", to: from, text: writeJson({ id, answer }) });
    }
  }

  #onAnswer(id: number, answer: JsonObject): void {
    const question = this.#asked.get(id);
    question?.answers.push(answer);
    question?.onAnswer();
  }
}
