/** The questions and answers in a call, as audit events. */
import type { AuditEvent } from "../core/audit.js";
import { APPROVAL_KEY, type Call, type Reply } from "../core/call.js";
import type { CallRecord } from "../core/call-record.js";
import { isObject, stringAt } from "../wire/json.js";

/** Maximum events per call. */
const MAX_QUESTIONS = 32;

/** The questions of `reply`, and the answers in `call`; usually none. */
export function interactionEvents(record: CallRecord, call: Call, reply: Reply): readonly AuditEvent[] {
  if (reply.kind !== "input_required" && call.inputResponses === undefined) return [];
  const { principal, host, target, server, traceId, rule } = record;
  const about = { principal, host, target, server, ...(traceId !== undefined && { traceId }) };
  const events: AuditEvent[] = [];
  if (call.inputResponses !== undefined && record.outcome !== "state_rejected") {
    const { responses, refusals = {} } = call.inputResponses;
    for (const [key, response] of Object.entries(responses).slice(0, MAX_QUESTIONS)) {
      if (key === APPROVAL_KEY) continue;
      const action = isObject(response) ? stringAt(response, "action") : undefined;
      const outcome = key in refusals ? "refused" : ACTIONS.has(action ?? "") ? action : "answered";
      events.push({ kind: "question", ...about, ...(outcome !== undefined && { outcome }) });
    }
  }
  const decision = call.record?.approval;
  if (decision !== undefined)
    events.push({ kind: "approval", ...about, decision, ...(rule !== undefined && { rule }) });
  if (reply.kind === "input_required") {
    for (const [key, request] of Object.entries(reply.requests).slice(0, MAX_QUESTIONS)) {
      const method = isObject(request) ? stringAt(request, "method") : undefined;
      events.push({
        kind: "question",
        ...about,
        ...(method !== undefined && { method: key === APPROVAL_KEY ? APPROVAL_KEY : method }),
        outcome: "asked",
      });
    }
  }
  return events;
}

/** The actions of an elicitation response. */
const ACTIONS: ReadonlySet<string> = new Set(["accept", "decline", "cancel"]);
