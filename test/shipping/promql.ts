/** Which metrics an expression of PromQL names, and which labels of them; as much of the language as is used here. */

interface Matcher {
  readonly label: string;
  /** What stands in the quotes, alternatives one by one. */
  readonly values: readonly string[];
}

interface Selector {
  readonly metric: string;
  readonly matchers: readonly Matcher[];
  /** Whether it is all that stands in a `rate()` or `increase()`. */
  readonly rated: boolean;
}

export interface Names {
  readonly selectors: readonly Selector[];
  /** The labels in `by (…)` and `on (…)`. */
  readonly grouping: readonly string[];
}

const TOKEN = /"(?:[^"\\]|\\.)*"|\d[\w.]*|[a-zA-Z_:$][\w:$]*|=~|!~|!=|==|\S/g;
const GROUPING = new Set(["by", "on", "without", "ignoring"]);
const OPERATORS = new Set(["and", "or", "unless", "bool"]);
/** What comes behind the name of a function or an aggregation. */
const CALLING = new Set(["(", "by", "without"]);

export function namesIn(expression: string): Names {
  const tokens: readonly string[] = expression.match(TOKEN) ?? [];
  const selectors: Selector[] = [];
  const grouping: string[] = [];
  /** The tokens up to the closing bracket. */
  const upTo = (at: number, close: string): readonly string[] => tokens.slice(at, tokens.indexOf(close, at));

  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at] ?? "";
    if (token === "[") at += upTo(at, "]").length;
    else if (GROUPING.has(token)) {
      const labels = upTo(at + 2, ")");
      grouping.push(...labels.filter((label) => label !== ","));
      at += labels.length + 2;
    } else if (/^[a-zA-Z_:]/.test(token) && !OPERATORS.has(token) && !CALLING.has(tokens[at + 1] ?? "")) {
      const rated = tokens[at - 1] === "(" && ["rate", "increase"].includes(tokens[at - 2] ?? "");
      const inside = tokens[at + 1] === "{" ? upTo(at + 2, "}") : [];
      selectors.push({ metric: token, matchers: matchersIn(inside), rated });
      if (tokens[at + 1] === "{") at += inside.length + 2;
    }
  }
  return { selectors, grouping };
}

/** `label = "value"`, with commas between them. */
const matchersIn = (tokens: readonly string[]): readonly Matcher[] =>
  tokens.flatMap((token, at) => {
    if (!token.startsWith('"')) return [];
    return [{ label: tokens[at - 2] ?? "", values: token.slice(1, -1).split("|") }];
  });
