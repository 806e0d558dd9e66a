/** What does the policy add to the admin API? The latest decisions, and approvals with actions that decide and revoke them. */
import { z } from "zod";
import { type AdminCaller, type AdminPage, rows, served, type WorkerAnswers } from "../../core/admin-page.js";
import { GatewayError } from "../../core/errors.js";
import type { FeatureAdmin, OperatorAction, OwnOperatorAction } from "../../core/feature.js";
import { isSamePrincipal, principalOf } from "../../core/principal.js";
import { page } from "../../http/page-schema.js";
import { mergeInEffect, type PolicyInEffect } from "./in-effect.js";
import type { Policy } from "./policy.js";
import type { ApprovalsOfReplicas } from "./second-person/approvals-of-replicas.js";
import { type Decider, refusalOf } from "./second-person/approvers.js";
import type { Decided, OpenApproval } from "./second-person/open-approvals.js";

const text = z.string();
/** ISO 8601. */
const time = z.iso.datetime();
const count = z.int().min(0);
/** With several workers: the number of the process. */
const worker = count.optional();

const DECISIONS = page({
  path: "decisions",
  summary: "The last decisions of rules",
  behind: { inDocument: "questions", inList: "approvals" },
  schema: z.array(
    z.object({
      time,
      call: count,
      on: text,
      method: text,
      target: text,
      server: text,
      principal: text,
      effect: text,
      answer: z.enum(["accepted", "declined", "remembered"]).optional(),
      rule: text,
      failed: text.optional(),
      worker,
    }),
  ),
  merge: rows,
});

/** Workers that are replicas list the approvals of all. */
function eachOnce<Row extends { readonly id: string; readonly worker?: number | undefined }>(
  answers: WorkerAnswers<readonly Row[]>,
): readonly Row[] {
  return [...new Map(rows(answers).map((row) => [row.id, row])).values()];
}

const APPROVALS = page({
  path: "approvals",
  summary: "Approvals that wait for a decision, and remembered ones",
  behind: { inDocument: "history", inList: "cluster" },
  isForPersons: true,
  schema: z.array(
    z.union([
      z.object({
        ...{ id: text, tool: text, server: text, principal: text, host: text.optional(), rule: text },
        ...{ at: time, expiresAt: time, approvers: z.array(text).readonly(), arguments: z.unknown(), worker },
      }),
      z.object({ id: text, rule: text, principal: text, target: text, server: text, until: time, worker }),
    ]),
  ),
  merge: eachOnce,
});

const globs = z.array(text).readonly().optional();
const on = z.enum(["call", "sampling", "elicitation", "roots"]);
const matchers = {
  ...{ tools: globs, prompts: globs, resources: globs, methods: globs, servers: globs },
  ...{ principals: globs, groups: globs, scopes: globs },
  annotations: z.record(text, z.boolean()).optional(),
  when: text.optional(),
};
const rate = z.object({ count, windowMs: count }).optional();
const counted = { hits: count, lastHitAt: time.optional() };

const IN_EFFECT = page({
  path: "policy",
  summary: "The rules and limits in effect, and how often each has applied",
  behind: { inDocument: "questions", inList: "approvals" },
  schema: z.object({
    default: z.enum(["allow", "deny", "hide"]),
    rules: z.array(
      z.object({
        name: text,
        effect: z.enum(["allow", "deny", "approve", "redact", "hide", "observe"]),
        ...{ on, matches: z.looseObject(matchers), ...counted },
      }),
    ),
    limits: z.array(
      z.object({
        ...{ name: text, on, matches: z.object(matchers) },
        per: z.enum(["principal", "session", "server", "tool", "all"]),
        ...{ rate, quota: rate, concurrency: count.optional(), timeoutMs: count.optional() },
        ...counted,
      }),
    ),
  }),
  merge: mergeInEffect,
});

const REVOKE: OperatorAction = {
  name: "revoke_approval",
  path: "approvals/:target/revoke",
  summary: "Revoke a remembered approval",
  isOfOne: true,
};

const ACCEPT: OperatorAction = {
  name: "accept_approval",
  path: "approvals/:target/accept",
  isForPersons: true,
  summary: "Let a call run that waits for an approver",
  isOfOne: true,
};

const DECLINE: OperatorAction = {
  name: "decline_approval",
  path: "approvals/:target/decline",
  isForPersons: true,
  summary: "Refuse a call that waits for an approver",
  isOfOne: true,
};

/** The pages and the actions. */
export const ADMIN: FeatureAdmin = {
  pages: [APPROVALS, DECISIONS, IN_EFFECT],
  actions: [],
  operatorActions: [ACCEPT, DECLINE, REVOKE],
};

/** What the pages and the action ask: every policy has the decisions and approvals of those before it. */
export type Latest = () =>
  | Pick<Policy, "decisions" | "approvals" | "revokeApproval" | "inEffect">
  | undefined;

/** The pages, of the latest policy. */
export const policyPages = (
  latest: Latest,
  open: () => Pick<ApprovalsOfReplicas, "list"> | undefined,
  redact: (text: string) => string,
): readonly AdminPage[] => [
  served(APPROVALS, async (_query, _signal, caller) => [
    ...openRows((await open()?.list()) ?? [], caller),
    ...(caller?.role === "person" ? [] : (latest()?.approvals() ?? [])),
  ]),
  served(DECISIONS, () => latest()?.decisions() ?? []),
  served(IN_EFFECT, () => redacted(latest()?.inEffect() ?? NOTHING, redact)),
];

/** A person who may read no other page sees what it may decide. */
const openRows = (approvals: readonly OpenApproval[], caller: AdminCaller | undefined) =>
  approvals
    .filter((open) => caller?.role !== "person" || refusalOf(open, deciderOf(caller)) === undefined)
    .map(({ principalKey: _, at, expiresAt, ...approval }) => ({
      ...approval,
      at: new Date(at).toISOString(),
      expiresAt: new Date(expiresAt).toISOString(),
    }));

const NOTHING: PolicyInEffect = { default: "allow", rules: [], limits: [] };

/** A condition may have a secret of the config in it. */
const redacted = (shown: PolicyInEffect, redact: (text: string) => string): PolicyInEffect => ({
  ...shown,
  rules: shown.rules.map((rule) => {
    const { when } = rule.matches;
    return when === undefined ? rule : { ...rule, matches: { ...rule.matches, when: redact(when) } };
  }),
});

/** The actions, on the latest policy. */
export const policyActions = (latest: Latest, open: Open): readonly OwnOperatorAction[] => [
  { ...ACCEPT, act: (id, by) => decide(open(), id, "accepted", by) },
  { ...DECLINE, act: (id, by) => decide(open(), id, "declined", by) },
  {
    ...REVOKE,
    async act(id) {
      try {
        const isRevoked = await latest()?.revokeApproval(id);
        return isRevoked === true ? undefined : "there is no such approval";
      } catch (error) {
        if (!(error instanceof GatewayError)) throw error;
        return error.message;
      }
    },
  },
];

/** Approvals that wait for other persons. */
type Open = () => Pick<ApprovalsOfReplicas, "decide"> | undefined;

const decide = async (approvals: ReturnType<Open>, id: string, decided: Decided, by: AdminCaller) =>
  approvals === undefined ? "there is no such open approval" : approvals.decide(id, decided, deciderOf(by));

/** All who have a token of the listener. */
const ADMIN_TOKEN = principalOf("gateway", "admin-token");

const deciderOf = ({ principal, address }: AdminCaller): Decider => ({
  principal,
  isOperator: isSamePrincipal(principal, ADMIN_TOKEN),
  address,
});
