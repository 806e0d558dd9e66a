/** Turns zod issues into sentences with file positions, without showing values. */
import { z } from "zod";
import { closest } from "./closest.js";
import { hasFeatureKeys, NO_SUCH_FEATURE } from "./missing-feature.js";
import { type Fault, keyOffset, MAX_FAULTS, type Path, type Tree, treeAt } from "./tree.js";
import { describePath } from "./variables.js";

type Issue = z.core.$ZodIssue;

/** The problems that `issues` report for the value at `base` of `root`. */
export function faultsOf(
  issues: readonly Issue[],
  schema: z.ZodType,
  root: Tree,
  base: Path,
): readonly Fault[] {
  return issues.slice(0, MAX_FAULTS).flatMap((found) => {
    const issue =
      found.code === "invalid_union" ? mostLikelyIssue(found, treeAt(root, pathOf(base, found))) : found;
    const at = pathOf(base, issue);
    if (issue.code === "unrecognized_keys") {
      const known = keysAt(schema, issue.path);
      const otherwise = hasFeatureKeys(at, known) ? NO_SUCH_FEATURE : "";
      return issue.keys.slice(0, MAX_FAULTS).map((key) => ({
        offset: keyOffset(root, at, key),
        message: `${describePath(at)} has an unknown key ${JSON.stringify(key)}${suggestion(key, known) || otherwise}`,
      }));
    }
    if (issue.code === "invalid_key") {
      const key = String(at.at(-1));
      const owner = at.slice(0, -1);
      return {
        offset: keyOffset(root, owner, key),
        message: `${describePath(owner)} has a key ${JSON.stringify(key)} that ${issue.issues[0]?.message ?? "is not taken"}`,
      };
    }
    return {
      offset: treeAt(root, at).offset,
      message: `${describePath(at)} ${issueMessage(issue, root, at)}`,
    };
  });
}

const pathOf = (base: Path, { path }: Issue): Path => [
  ...base,
  ...path.map((step) => (typeof step === "number" ? step : String(step))),
];

/** `; did you mean "…"?` for a misspelled word; empty if no known word is close. */
export function suggestion(word: string, known: readonly string[]): string {
  const near = closest(word, known);
  return near === undefined ? "" : `; did you mean ${JSON.stringify(near)}?`;
}

function issueMessage(issue: Issue, root: Tree, at: Path): string {
  const owner = treeAt(root, at.slice(0, -1));
  const key = at.at(-1);
  if (owner.kind === "object" && typeof key === "string" && !owner.members.has(key)) return "is missing";
  if (issue.code === "invalid_type") {
    const [wanted, given] = [typeWord(issue.expected), kindWord(treeAt(root, at))];
    return wanted.endsWith("number") && given === "a number"
      ? `must be ${wanted}`
      : `must be ${wanted}, not ${given}`;
  }
  if (issue.code === "invalid_value") {
    return `must be one of ${issue.values.map((value) => JSON.stringify(value)).join(", ")}`;
  }
  if (issue.code === "too_small") {
    const counted = issue.origin === "string" || issue.origin === "array";
    return counted ? "cannot be empty" : `must be at least ${issue.minimum}`;
  }
  if (issue.code === "too_big") {
    return issue.origin === "string"
      ? `can have at most ${issue.maximum} characters`
      : `must be at most ${issue.maximum}`;
  }
  if (issue.code === "invalid_union") return `cannot be ${kindWord(treeAt(root, at))}`;
  return issue.message;
}

/** The issue of the best matching alternative: the one that accepted its type. */
function mostLikelyIssue(issue: Extract<Issue, { code: "invalid_union" }>, value: Tree): Issue {
  const chosen = issue.errors.find(
    (errors) => !errors.some((error) => error.code === "invalid_type" && error.path.length === 0),
  );
  const inner = chosen?.[0] ?? (value.kind === "scalar" ? issue.errors[0]?.[0] : undefined);
  if (inner === undefined) return issue;
  const types = new Set(
    issue.errors
      .flat()
      .flatMap((error) => (isOfWhole(error, "invalid_type") ? [typeWord(error.expected)] : [])),
  );
  if (isOfWhole(inner, "invalid_value") && types.size > 0) {
    const words = inner.values.map((word) => JSON.stringify(word));
    return { code: "custom", path: issue.path, message: `must be ${[...types, ...words].join(" or ")}` };
  }
  return { ...inner, path: [...issue.path, ...inner.path] };
}

/** Whether the issue is about the value itself, not a member of it. */
const isOfWhole = <C extends Issue["code"]>(issue: Issue, code: C): issue is Extract<Issue, { code: C }> =>
  issue.code === code && issue.path.length === 0;

/** The keys that the schema knows at the path. */
function keysAt(schema: z.ZodType, path: readonly PropertyKey[]): readonly string[] {
  const inner = unwrap(schema);
  if (inner instanceof z.ZodUnion) {
    return inner.options.flatMap((option) => (option instanceof z.ZodType ? keysAt(option, path) : []));
  }
  const [step, ...rest] = path;
  if (inner instanceof z.ZodObject) {
    if (step === undefined) return Object.keys(inner.shape);
    const next: unknown = Object.hasOwn(inner.shape, step) ? inner.shape[String(step)] : undefined;
    return next instanceof z.ZodType ? keysAt(next, rest) : [];
  }
  if (inner instanceof z.ZodArray && inner.element instanceof z.ZodType) return keysAt(inner.element, rest);
  if (inner instanceof z.ZodRecord && inner.valueType instanceof z.ZodType)
    return keysAt(inner.valueType, rest);
  return [];
}

function unwrap(schema: z.ZodType): z.ZodType {
  const wrapped =
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault ||
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodExactOptional;
  const inner: unknown = wrapped ? schema.unwrap() : undefined;
  return inner instanceof z.ZodType ? unwrap(inner) : schema;
}

function typeWord(expected: string): string {
  const words: Readonly<Record<string, string>> = {
    string: "text",
    number: "a number",
    int: "a whole number",
    boolean: "true or false",
    array: "a list",
    object: "an object",
    record: "an object",
  };
  return words[expected] ?? expected;
}

function kindWord(tree: Tree): string {
  if (tree.kind === "array") return "a list";
  if (tree.kind === "object") return "an object";
  if (tree.value === null) return "null";
  return typeof tree.value === "string"
    ? "text"
    : typeof tree.value === "number"
      ? "a number"
      : "true or false";
}
