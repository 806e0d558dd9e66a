/** What a scan of definitions finds: which rule, how severe, and where. */
import type { ListKind } from "../../core/lists.js";
import type { JsonObject } from "../../wire/json.js";

/** From the least to the most severe. */
export const SEVERITIES = ["low", "medium", "high"] as const;
/** How severe a finding is: `high` is hardly ever right in a definition, `medium` needs a look, `low` is common. */
export type Severity = (typeof SEVERITIES)[number];

/** Whether `severity` is `least` or more severe. */
export const isAtLeast = (severity: Severity, least: Severity): boolean =>
  SEVERITIES.indexOf(severity) >= SEVERITIES.indexOf(least);

/** The kinds of definitions, by their list; a server itself has instructions. */
type DefinitionKind = ListKind | "server";

/** Something that a server says of itself. */
export interface Definition {
  readonly server: string;
  readonly kind: DefinitionKind;
  /** The server's own name of it, or its URI; the name of the server for `server`. */
  readonly name: string;
  readonly item: JsonObject;
}

/** The ids of all rules. A page of the docs has a section for each. */
export const RULES = {
  "hidden-text": "Text that people do not see and models read",
  "hidden-comment": "A comment or tag that displays of Markdown and HTML leave out",
  "override-instructions": "An order to ignore instructions or safety rules",
  "order-to-model": "An order to the model that has nothing to do with the tool",
  secrecy: "An order to keep something from the user",
  exfiltration: "An order to send data elsewhere",
  "sensitive-data": "A request for credentials, private files or the conversation",
  shadowing: "An order about tools of other servers",
  "look-alike-name": "A name that can be mistaken for another server's",
  "encoded-text": "An encoded text",
  "shell-command": "A command of a shell that fetches and runs, or deletes",
  "suspicious-default": "A default or choice that no user would choose",
} as const;
/** The id of a rule. */
export type RuleId = keyof typeof RULES;

/** The page with a section for each rule. */
export const RULES_PAGE = "docs/scan-rules.md";

/** What a rule finds in one text. */
export interface Match {
  readonly rule: RuleId;
  readonly severity: Severity;
  /** A sentence without its full stop, without words of the text. */
  readonly message: string;
  /** Where in the text, in UTF-16 code units. */
  readonly start: number;
  readonly end: number;
}

/** Something found in a definition. */
export interface Finding {
  readonly rule: RuleId;
  readonly severity: Severity;
  readonly message: string;
  readonly server: string;
  readonly kind: DefinitionKind;
  readonly name: string;
  /** A JSON pointer into the item (RFC 6901); to the name of a member where that is what was found. */
  readonly pointer: string;
  /** The part of the text, with invisible characters written as escapes. */
  readonly excerpt: string;
}
