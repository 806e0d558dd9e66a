/** Takes things out of JSON on its way through: members by their path, and whatever a pattern matches in a text. */
import type { RedactionConfig } from "../config/config.js";
import { isObject, type JsonObject } from "../wire/json.js";
import { compilePattern } from "./rules/patterns.js";

/** RE2 is linear, but not fast: a longer text is taken out as a whole rather than held the event loop for. */
const LONGEST_TEXT = 262_144;
/** After so many characters others get their turn. */
const TURN = 65_536;

/** Whether a member holds bytes, written as text, in which no pattern means anything. */
const isBytes = (key: string, owner: JsonObject): boolean =>
  key === "blob" || (key === "data" && (owner.type === "image" || owner.type === "audio"));

export interface Redaction {
  /** A copy without what is to be taken out; the very same object where there is nothing. Lets others go first. */
  apply(object: JsonObject): Promise<JsonObject>;
  /** The same at once, for what is small. */
  applyNow(object: JsonObject): JsonObject;
  /** The same for one text; paths do not count. */
  text(text: string): string;
  /** Whether there is anything to look for. */
  readonly active: boolean;
}

export function redaction(config: RedactionConfig, replacement: string): Redaction {
  const paths = config.paths.map((path) => path.split("."));
  const patterns = config.patterns.map(compilePattern);

  function text(given: string): string {
    if (patterns.length === 0) return given;
    if (given.length > LONGEST_TEXT) return replacement;
    let clean = given;
    for (const pattern of patterns) {
      // Looking is ten times cheaper than replacing, and most texts are clean.
      if (pattern.test(clean)) clean = pattern.matcher(clean).replaceAll(() => replacement);
    }
    return clean;
  }

  /** Stops before each text, with its length, so that whoever drives it can make a pause. */
  function* walk(value: unknown): Generator<number, unknown, void> {
    if (typeof value === "string") {
      yield value.length;
      return text(value);
    }
    if (Array.isArray(value)) {
      const copy: unknown[] = [];
      for (const element of value as readonly unknown[]) copy.push(yield* walk(element));
      return copy.some((element, at) => element !== value[at]) ? copy : value;
    }
    return isObject(value) ? yield* walkObject(value) : value;
  }

  function* walkObject(object: JsonObject): Generator<number, JsonObject, void> {
    let changed = false;
    const copy: [string, unknown][] = [];
    for (const [key, inner] of Object.entries(object)) {
      const clean = isBytes(key, object) ? inner : yield* walk(inner);
      changed ||= clean !== inner;
      copy.push([key, clean]);
    }
    return changed ? Object.fromEntries(copy) : object;
  }

  const steps = (object: JsonObject): Generator<number, JsonObject, void> =>
    walkObject(paths.reduce<JsonObject>((rest, path) => cutOut(rest, path, replacement), object));

  return {
    active: paths.length > 0 || patterns.length > 0,
    text,
    applyNow(object) {
      const walking = steps(object);
      let step = walking.next();
      while (step.done !== true) step = walking.next();
      return step.value;
    },
    async apply(object) {
      const walking = steps(object);
      let spent = 0;
      let step = walking.next();
      while (step.done !== true) {
        spent += step.value;
        if (spent >= TURN) {
          spent = 0;
          await new Promise((resolve) => void setImmediate(resolve));
        }
        step = walking.next();
      }
      return step.value;
    },
  };
}

function cutOut(object: JsonObject, path: readonly string[], replacement: string): JsonObject {
  return cut(object, path, replacement) as JsonObject;
}

function cut(value: unknown, [step, ...rest]: readonly string[], replacement: string): unknown {
  if (step === undefined) return replacement;
  if (Array.isArray(value)) {
    const wanted = (at: number): boolean => step === "*" || step === String(at);
    return (value as readonly unknown[]).map((inner, at) =>
      wanted(at) ? cut(inner, rest, replacement) : inner,
    );
  }
  if (!isObject(value)) return value;
  if (step !== "*" && !Object.hasOwn(value, step)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      step === "*" || step === key ? cut(inner, rest, replacement) : inner,
    ]),
  );
}
