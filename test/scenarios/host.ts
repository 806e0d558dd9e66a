/** Hosts of every kind that call a tool and answer whatever is asked on the way, in the manner of their era. */
import type { Json } from "../support/peers/host.js";
import { openLegacy, openModern, type RawHost, type RawOptions } from "../support/peers/raw.js";
import { THROUGH_CALL_TOOL } from "../support/through.js";
import { until } from "../support/until.js";
import type { Door, Person, Stage } from "./stage.js";

export interface HostKind {
  readonly key: string;
  /** As it stands in the name of a test. */
  readonly name: string;
  readonly era: "legacy" | "modern";
  readonly door: Door;
}

export const HOSTS = {
  legacyHttp: { key: "legacy-http", name: "a legacy host over HTTP", era: "legacy", door: "http" },
  legacyStdio: { key: "legacy-stdio", name: "a legacy host on a pipe", era: "legacy", door: "stdio" },
  legacySse: { key: "legacy-sse", name: "a legacy host over HTTP+SSE", era: "legacy", door: "sse" },
  modernHttp: { key: "modern-http", name: "a modern host over HTTP", era: "modern", door: "http" },
  modernStdio: { key: "modern-stdio", name: "a modern host on a pipe", era: "modern", door: "stdio" },
} as const satisfies Readonly<Record<string, HostKind>>;

/** Everything that a server may ask. */
export const ASKABLE: Json = {
  sampling: { tools: {}, context: {} },
  elicitation: { form: {}, url: {} },
  roots: { listChanged: true },
};

export interface Question {
  readonly method: string;
  readonly params: Json;
  /** Of the request in which a legacy host is asked; modern hosts are not asked by requests. */
  readonly id?: unknown;
}

/** The bare result; a host that throws refuses (a modern one can only leave the answer out). */
export type Answer = (question: Question) => Json | Promise<Json>;

/** Never answers. */
export const NEVER: Answer = () => new Promise<Json>(() => {});

export interface Calling {
  /** The whole response that it ended with. */
  readonly outcome: Promise<Json>;
  /** What it was asked, in order. */
  readonly asked: readonly Question[];
  /** The states that came with the questions; only modern hosts ever see one. */
  readonly states: readonly string[];
  /** Resolves after this number of questions. */
  whenAsked(count?: number): Promise<void>;
  /** Gives it up, as its era and transport do that. */
  cancel(): Promise<void>;
}

export interface ScenarioHost {
  readonly kind: HostKind;
  readonly raw: RawHost;
  /** The notifications that it received, during its calls and between them. */
  readonly heard: readonly Json[];
  /** How many questions were taken back from it. */
  readonly takenBack: number;
  /** Questions that came while none of its calls was under way are answered like those of the last one. */
  call(tool: string, args: Json, answer?: Answer, meta?: Json): Calling;
  /** Goes away, as a host of its kind does for good. */
  leave(): Promise<void>;
}

export async function openHost(
  stage: Stage,
  kind: HostKind,
  options: RawOptions & {
    readonly person?: Person;
    /** To questions before the first call. */
    readonly answer?: Answer;
  } = {},
): Promise<ScenarioHost> {
  const settings = { capabilities: ASKABLE, throughCallTool: THROUGH_CALL_TOOL, ...options };
  const wire = await stage.enter(kind.door, options.person);
  return kind.era === "legacy"
    ? legacyHost(kind, await openLegacy(wire, settings), options.answer)
    : modernHost(kind, await openModern(wire, settings));
}

/** Every host counts from one, so all of them use the same ids. */
function counter(): () => number {
  let last = 0;
  return () => {
    last += 1;
    return last;
  };
}

class Notes {
  readonly asked: Question[] = [];
  readonly states: string[] = [];

  take(question: Json): Question {
    const { id, method, params = {} } = question;
    const taken = { method: String(method), params: params as Json, ...(id !== undefined && { id }) };
    this.asked.push(taken);
    return taken;
  }

  readonly whenAsked = async (count = 1): Promise<void> => {
    await until(`question ${count}`, () => this.asked.length >= count);
  };
}

async function legacyHost(kind: HostKind, raw: RawHost, first: Answer = NEVER): Promise<ScenarioHost> {
  const heard: Json[] = [];
  const nextId = counter();
  let takenBack = 0;
  let current: { readonly notes: Notes; readonly answer: Answer } = { notes: new Notes(), answer: first };

  const hear = (message: Json): void => {
    if (message.id !== undefined) {
      const { notes, answer } = current;
      void raw.respond(message, (question) => answer(notes.take(question)));
    } else if (message.method === "notifications/cancelled") takenBack += 1;
    else heard.push(message);
  };
  await raw.follow({}, hear);

  return {
    kind,
    raw,
    heard,
    get takenBack() {
      return takenBack;
    },
    call(name, args, answer = NEVER, _meta) {
      const notes = new Notes();
      current = { notes, answer };
      const id = nextId();
      const letGo = new AbortController();
      const params = { name, arguments: args, ...(_meta && { _meta }) };
      // On a pipe the host gets every message already.
      const options = { signal: letGo.signal, ...(!raw.wire.onPipe && { onMessage: hear }) };
      const outcome = raw.send(id, "tools/call", params, options);
      // A host that has cancelled receives no response, and this promise is not awaited then.
      outcome.catch(() => {});
      return {
        outcome,
        asked: notes.asked,
        states: notes.states,
        whenAsked: notes.whenAsked,
        cancel: () => raw.cancel(id, letGo),
      };
    },
    leave: () => raw.close(),
  };
}

function modernHost(kind: HostKind, raw: RawHost): ScenarioHost {
  const heard: Json[] = [];
  const nextId = counter();
  const hear = (message: Json): void => void heard.push(message);
  return {
    kind,
    raw,
    heard,
    takenBack: 0,
    call(name, args, answer = NEVER, _meta) {
      const notes = new Notes();
      const letGo = new AbortController();
      let id = 0;
      const nextRound = (): number => {
        id = nextId();
        return id;
      };
      const params = { name, arguments: args, ...(_meta && { _meta }) };
      const outcome = raw
        .converse("tools/call", params, (question) => answer(notes.take(question)), {
          idOf: nextRound,
          signal: letGo.signal,
          onMessage: hear,
          onRound: ({ requestState }) => {
            if (requestState !== undefined) notes.states.push(requestState as string);
          },
        })
        .then(({ response }) => response);
      outcome.catch(() => {});
      return {
        outcome,
        asked: notes.asked,
        states: notes.states,
        whenAsked: notes.whenAsked,
        cancel: () => raw.cancel(id, letGo),
      };
    },
    leave: () => raw.close(),
  };
}
