/**
 * Which other member of an object would a reader that ignores case (Go, .NET) take for the one that a condition asks for?
 * A condition on `args.env` is about `{"ENV": "prod"}` too: the server decides which one it acts on.
 */
import { foldedName } from "../../../wire/case-folding.js";
import type { JsonObject } from "../../../wire/json.js";
import type { EvaluationWork } from "./cel.js";

/** The reading of an evaluation, and whether the other one may differ. */
export class MemberReading {
  /** True while a condition asks for a member; comparing whole values does not. */
  isAsked = false;
  /** True while a member is another one that folds to it, where there is one. */
  isFolded = false;
  /** Whether a member that was asked for has such a twin. */
  sawTwin = false;
  /** Whether there are several, of one member or of two: a reader may take some of them only, or join two objects. */
  isUnclear = false;
  #object: JsonObject | undefined;
  #key = "";
  readonly #work: EvaluationWork;

  constructor(work: EvaluationWork) {
    this.#work = work;
  }

  /** Begins the reading by exact names. */
  begin(): void {
    this.isFolded = false;
    this.sawTwin = false;
    this.isUnclear = false;
    this.#object = undefined;
  }

  /** Begins the other reading. */
  beginFolded(): void {
    this.isFolded = true;
    this.#object = undefined;
  }

  /** The name under which `key` is read. @throws WorkLimitError */
  nameOf(object: JsonObject, key: string): string {
    if (!this.isAsked) return key;
    const twin = twinOf(object, key, this.#work);
    if (twin === undefined) return key;
    this.sawTwin = true;
    const isSecond = this.#object !== undefined && (this.#object !== object || this.#key !== key);
    if (twin.isOneOfSeveral || isSecond) this.isUnclear = true;
    this.#object = object;
    this.#key = key;
    return this.isFolded ? twin.name : key;
  }
}

interface Twin {
  readonly name: string;
  readonly isOneOfSeveral: boolean;
}

/** Objects with more members are searched once for each name, as several rules may ask for it. */
const FEW = 64;
/** Members between two counts of work. */
const AT_ONCE = 256;
const STEPS_PER_MEMBER = 1 / 4;

interface Search {
  at: number;
  twin: Twin | undefined;
}
interface Searched {
  readonly names: readonly string[];
  readonly byKey: Map<string, Search>;
}
const searched = new WeakMap<JsonObject, Searched>();

function twinOf(object: JsonObject, key: string, work: EvaluationWork): Twin | undefined {
  const before = searched.get(object);
  if (before !== undefined) return continued(before, key, work);
  let twin: Twin | undefined;
  let count = 0;
  for (const name in object) {
    count += 1;
    if (count > FEW) {
      const large = { names: Object.keys(object), byKey: new Map<string, Search>() };
      searched.set(object, large);
      return continued(large, key, work);
    }
    if (isTwin(name, key)) twin = { name, isOneOfSeveral: twin !== undefined };
  }
  return twin;
}

/** Where the work was more than one evaluation may be, the next one continues from there. @throws WorkLimitError */
function continued({ names, byKey }: Searched, key: string, work: EvaluationWork): Twin | undefined {
  const search = byKey.get(key) ?? { at: 0, twin: undefined };
  byKey.set(key, search);
  while (search.at < names.length) {
    work.spend(AT_ONCE * STEPS_PER_MEMBER);
    for (const name of names.slice(search.at, search.at + AT_ONCE))
      if (isTwin(name, key)) search.twin = { name, isOneOfSeveral: search.twin !== undefined };
    search.at += AT_ONCE;
  }
  return search.twin;
}

/** Two names of ASCII that fold to each other have one length and begin with one letter. */
function isTwin(name: string, key: string): boolean {
  if (name === key) return false;
  const first = name.charCodeAt(0);
  if (first < 128 && key.charCodeAt(0) < 128 && (first | 32) !== (key.charCodeAt(0) | 32)) return false;
  if (name.length !== key.length && isAscii(name) && isAscii(key)) return false;
  return foldedName(name) === foldedName(key);
}

const isAscii = (text: string): boolean => /^[\0-\x7f]*$/.test(text);
