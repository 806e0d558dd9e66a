/** Sentences about what a conversation has touched. */
import type { Route } from "../../core/call.js";
import { shortText } from "../../core/short-text.js";
import { retainedCopy } from "../../runtime/cache-limits.js";
import type { Conversation } from "./conversations.js";
import type { Labels } from "./labels.js";
import type { FlowRule, Touched } from "./section.js";

/** Characters of a name. */
const MAX_NAME = 100;

const NOUNS: Readonly<Record<Touched, string>> = {
  private: "private data",
  untrusted: "untrusted content",
};

/** A target, as sentences name it: a tool or prompt by its name, a resource by its server, as its URI may say more than a name. */
export function nameOf({ kind, exposed, upstream }: Route): string {
  if (kind === "tools" || kind === "prompts") return retainedCopy(shortText(exposed, MAX_NAME));
  return `a ${kind === "methods" ? "method" : "resource"} of ${upstream}`;
}

/** `private data (files__read) and untrusted content (web__get)`; what the call itself touches is marked as its own. */
export function touchedText(
  { after }: Pick<FlowRule, "after">,
  own: Labels,
  conversation: Pick<Conversation, Touched> | undefined,
): string {
  return after
    .map((label) => {
      const sources = conversation?.[label] ?? [];
      const named = sources.length > 0 ? sources.join(", ") : own[label] ? "its own" : "";
      return `${NOUNS[label]} (${named})`;
    })
    .join(" and ");
}

/** `private data and untrusted content`. */
export const nouns = (labels: readonly Touched[]): string =>
  labels.map((label) => NOUNS[label]).join(" and ");

/** For the caller of a refused call. */
export const refusal = (rule: FlowRule, route: Route, touched: string): string =>
  withMessage(
    rule,
    `"${nameOf(route)}" sends to the outside, and this conversation has touched ${touched}: the flow rule "${rule.name}" refuses it. A new conversation has touched nothing.`,
  );

/** For the person who approves. */
export const question = (rule: FlowRule, route: Route, touched: string): string =>
  withMessage(
    rule,
    `"${nameOf(route)}" sends to the outside, and this conversation has touched ${touched} (flow rule "${rule.name}").`,
  );

const withMessage = ({ message }: FlowRule, sentence: string): string =>
  message === undefined ? sentence : `${message}\n${sentence}`;

/** The labels of a target, as the config writes them. */
export const labelWords = (labels: Labels): readonly string[] => [
  ...(labels.private ? ["reads: private"] : []),
  ...(labels.untrusted ? ["content: untrusted"] : []),
  ...(labels.external ? ["sends: external"] : []),
];
