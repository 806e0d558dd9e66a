/** The lists and instructions of one server, without the characters that no reader sees. */
import type { ListAdmission } from "../../core/list-admission.js";
import type { ListKind } from "../../core/lists.js";
import type { ServerFacts } from "../../core/upstream.js";
import { type Steps, Work } from "../../runtime/cooperative-yield.js";
import type { JsonObject } from "../../wire/json.js";
import { OF_MESSAGES, OF_SCHEMAS, visibleJson } from "./visible-json.js";

/** Tools and prompts are called by their names; hosts see those in a form that has letters, digits, `_` and `-` only. */
const NAMED: ReadonlySet<ListKind> = new Set(["tools", "prompts"]);

/** Each definition is read once. `onStripped`: for each that changed. */
export function stripDefinitions(onStripped: () => void): ListAdmission {
  const known = new WeakMap<JsonObject, JsonObject>();
  const facts = new WeakMap<ServerFacts, ServerFacts>();

  function* read(kind: ListKind, item: JsonObject, work: Work): Steps<JsonObject> {
    const before = known.get(item);
    if (before !== undefined) return before;
    const clean = (yield* visibleJson(item, OF_SCHEMAS, work)) as JsonObject;
    const admitted = clean !== item && NAMED.has(kind) ? { ...clean, name: item.name } : clean;
    known.set(item, admitted);
    if (admitted !== item) onStripped();
    return admitted;
  }

  return {
    *prepare(kind, items) {
      const work = new Work();
      for (const item of items) yield* read(kind, item, work);
    },
    admitted(kind, items) {
      const work = new Work();
      const admitted = items.map((item) => known.get(item) ?? atOnce(read(kind, item, work)));
      return admitted.every((item, at) => item === items[at]) ? items : admitted;
    },
    admittedFacts(given) {
      let admitted = facts.get(given);
      if (admitted === undefined) {
        admitted = atOnce(visibleFacts(given));
        facts.set(given, admitted);
        if (admitted !== given) onStripped();
      }
      return admitted;
    },
    watch: () => () => {},
  };
}

function* visibleFacts(facts: ServerFacts): Steps<ServerFacts> {
  const work = new Work();
  const { instructions, serverInfo } = facts;
  const clean = {
    serverInfo: (yield* visibleJson(serverInfo, OF_MESSAGES, work)) as JsonObject,
    ...(instructions !== undefined && {
      instructions: (yield* visibleJson(instructions, OF_MESSAGES, work)) as string,
    }),
  };
  return clean.serverInfo === serverInfo && clean.instructions === instructions
    ? facts
    : { ...facts, ...clean };
}

/** `prepare` has done what takes long. */
function atOnce<Value>(steps: Steps<Value>): Value {
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  return step.value;
}
