/** The sections `policy.flow`, and `flow` of a server and of one of its tools in `overrides`. */
import { z } from "zod";
import { countChange } from "../../config/changes.js";
import { duration } from "../../config/duration-schema.js";
import { type LateFault, sectionOf } from "../../config/section.js";
import { parseDuration } from "../../config/units.js";
import { writeJson } from "../../wire/json-text.js";

/** What a conversation can have touched. */
export type Touched = "private" | "untrusted";

/** One of the rules of `policy.flow`. */
export interface FlowRule {
  readonly name: string;
  /** All of them must have been touched. */
  readonly after: readonly Touched[];
  readonly sends: "external";
  readonly effect: "observe" | "approve" | "deny";
  /** For the refused caller, or for the person who approves, before what is known of the conversation. */
  readonly message?: string;
  /** With `approve`: who decides in place of the caller, by id or as `group:NAME`. */
  readonly approvers?: readonly string[];
  /** With `approvers`. */
  readonly approvalTimeoutMs?: number;
}

/** Labels as the config has them; an absent one says nothing. */
export interface FlowLabels {
  readonly reads?: "private" | "public";
  readonly content?: "untrusted" | "trusted";
  readonly sends?: "external" | "internal";
}

declare module "../../config/config.js" {
  interface FeatureSettings {
    readonly "policy.flow"?: readonly FlowRule[];
  }
  interface ServerFeatureSettings {
    readonly flow?: FlowLabels;
  }
  interface ToolFeatureSettings {
    readonly flow?: FlowLabels;
  }
}

const rule = z.strictObject({
  name: z.string().min(1).max(64).describe("Its name in refusals, metrics and decisions."),
  after: z
    .array(z.enum(["private", "untrusted"]))
    .min(1)
    .describe(
      "What the conversation must have touched before, all of it: private data (`reads`), untrusted content (`content`).",
    ),
  sends: z
    .enum(["external"])
    .default("external")
    .describe("The calls that it is about: those of tools with this label."),
  effect: z
    .enum(["observe", "approve", "deny"])
    .default("observe")
    .describe(
      "`observe` records what would have become of the call; `approve` asks a person at the host first; `deny` refuses.",
    ),
  message: z
    .string()
    .min(1)
    .max(1_024)
    .exactOptional()
    .describe(
      "The text for the refused caller, or for the person who approves. What was touched follows it.",
    ),
  approvers: z
    .array(z.string().min(1))
    .min(1)
    .exactOptional()
    .describe("With `approve`: who decides in place of the caller, as in `policy.rules`."),
  approvalTimeout: duration(
    "With `approvers`: how long a call waits for a decision. Default: `10m`.",
  ).exactOptional(),
});

const labels = z.strictObject({
  reads: z
    .enum(["private", "public"])
    .exactOptional()
    .describe(
      "Whether results have private data. Each of these keys without a value says nothing; in a tool it is as in its server.",
    ),
  content: z
    .enum(["untrusted", "trusted"])
    .exactOptional()
    .describe("Whether results have text that strangers have written, which may be orders to the model."),
  sends: z
    .enum(["external", "internal"])
    .exactOptional()
    .describe("Whether arguments reach others than the caller's own systems."),
});

const DEFAULT_TIMEOUT_MS = 600_000;

const completeRule = ({ approvalTimeout, ...shape }: z.output<typeof rule>): FlowRule => {
  const given = approvalTimeout === undefined ? undefined : parseDuration(approvalTimeout);
  const approvalTimeoutMs = shape.approvers === undefined ? given : (given ?? DEFAULT_TIMEOUT_MS);
  return approvalTimeoutMs === undefined ? shape : { ...shape, approvalTimeoutMs };
};

const section = sectionOf({
  path: "policy.flow",
  schema: z
    .array(rule.meta({ id: "flowRule" }))
    .exactOptional()
    .describe(
      "Rules about what one conversation does in several calls: after private data and untrusted content, a tool that sends (`docs/flow.md`).",
    ),
  change: "reload",
  complete: (shape): readonly FlowRule[] => (shape ?? []).map(completeRule),
  check: async (rules, all) => faultsOf(rules, all),
  changes: (before = [], now = []) => countChange("flow rules", before, now),
});

const ofServer = sectionOf({
  of: "server",
  path: "flow",
  schema: labels
    .exactOptional()
    .describe("What its tools, prompts and resources read and where they send, for `policy.flow`."),
  change: "reload",
  complete: (shape): FlowLabels => shape ?? {},
});

const ofTool = sectionOf({
  of: "tool",
  path: "flow",
  schema: labels.exactOptional().describe("Instead of `flow` of the server, for this tool."),
  change: "reload",
  complete: (shape): FlowLabels => shape ?? {},
});

/** All of them. */
export const SECTIONS = [section, ofServer, ofTool];

/** Contradictions in the rules, and names that a rule or limit has. */
function faultsOf(rules: readonly FlowRule[], all: Readonly<Record<string, unknown>>): readonly LateFault[] {
  const taken = new Set(["default", ...namesIn(all)]);
  return rules.flatMap(({ name, effect, approvers, approvalTimeoutMs }, at): readonly LateFault[] => {
    const found: LateFault[] = [];
    const add = (key: string, message: string): void => {
      found.push({ path: ["policy", "flow", at, key], message });
    };
    if (taken.has(name)) add("name", `the name ${writeJson(name)} is taken by another rule or limit`);
    taken.add(name);
    if (approvers !== undefined && effect !== "approve")
      add("approvers", 'this key needs the effect "approve"');
    if (approvers?.includes("group:") === true) add("approvers", '"group:" needs the name of a group');
    if (approvers === undefined && approvalTimeoutMs !== undefined)
      add("approvalTimeout", 'this key needs "approvers"');
    return found;
  });
}

interface Named {
  readonly name: string;
}

/** Of rules and limits, which are sections of another feature. */
function namesIn({ policy, limits }: Readonly<Record<string, unknown>>): readonly string[] {
  const { rules = [] } = (policy ?? {}) as { readonly rules?: readonly Named[] };
  return [...rules, ...((limits ?? []) as readonly Named[])].map(({ name }) => name);
}
