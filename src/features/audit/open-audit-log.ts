/** The audit log of a gateway: its events as lines, as described in docs/audit.md. */

import { LRUCache } from "lru-cache";
import { APPROVAL_KEY, type Call, type Reply } from "../../core/call.js";
import type { CallRecord } from "../../core/call-record.js";
import type { Logger } from "../../core/logger.js";
import type { Webhook } from "../../outgoing/webhook.js";
import { entryLimit } from "../../runtime/cache-limits.js";
import { isObject, stringAt } from "../../wire/json.js";
import { writeJson } from "../../wire/json-text.js";
import type { WrittenEvent } from "./line.js";
import { workerFile } from "./names.js";
import { hundredths, isoTime } from "./number-texts.js";
import { argumentsReader, type RecordedArguments } from "./recorded-arguments.js";
import type { AuditConfig } from "./section.js";
import { AuditSink } from "./sink/sink.js";
import type { AuditEvent, AuditLog } from "./types.js";
import { AuditWriter } from "./writer.js";

interface AuditOptions {
  readonly logger: Logger;
  readonly redact: (text: string) => string;
  /** Each worker writes its own file. */
  readonly worker?: number | undefined;
  /** The gateway's version, for the `start` line. */
  readonly version: string;
  /** The config at the start. */
  readonly configDigest?: string | undefined;
  /** Default: the system clock. */
  readonly now?: () => Date;
  /** Posts lines. Default: by HTTP. */
  readonly webhook?: Pick<Webhook, "post" | "close"> | undefined;
}

/** Strings that many lines share. */
const MAX_TEXTS = 2_000;

/** Opens the log and writes its first line. A file that cannot be opened is a `problem` of the log, and retried. */
export async function openAuditLog(config: AuditConfig, options: AuditOptions): Promise<AuditLog> {
  const { logger, redact, worker, now } = options;
  const file = worker === undefined ? config.file : workerFile(config.file, worker);
  const { rotate, key, sink: target } = config;
  const sink: AuditSink | undefined =
    target &&
    new AuditSink({ ...{ file, target, logger }, written: () => writer.position, webhook: options.webhook });
  const writer = new AuditWriter(
    {
      ...{ file, rotate, key },
      ...(sink !== undefined && {
        isNeeded: (seq) => seq > sink.sentSeq,
        onWritten: () => sink.lineWritten(),
      }),
    },
    logger,
    now,
  );
  const found = await writer.open();
  if (found === "torn" || found === "cut")
    logger.warn({ file }, `the audit log was ${FOUND[found]}; its first line of this run says so`);
  const texts = new CachedTexts(redact);
  const readArguments = argumentsReader(config.arguments, redact);
  writer.post({
    kind: "start",
    outcome: found ?? "unopened",
    arguments: { version: options.version, config: options.configDigest ?? null },
  });
  await sink?.open();

  const call = (record: CallRecord, source: Call, reply: Reply): void => {
    const safe = texts.ofCall(record);
    if (hasInteractions(source, reply)) {
      const { host, method, target } = safe;
      const shown = { ...record, host: host.text, method: method.text, target: target.text };
      for (const event of interactionEvents(shown, source, reply)) writer.post(event);
    }
    const write = (args: RecordedArguments): boolean | Promise<boolean> =>
      writer.addToBatch(texts.callEvent(record, safe, args));
    const args = readArguments(source);
    const written = args instanceof Promise ? args.then(write) : write(args);
    if (source.record !== undefined) source.record.recorded = written;
  };

  return {
    required: config.required,
    get problem() {
      return writer.problem;
    },
    get lost() {
      return writer.lost;
    },
    sink,
    call,
    event: (event) => writer.post(event),
    secretsChanged: () => texts.secretsChanged(),
    async close(isImmediate) {
      writer.post({ kind: "stop" });
      await writer.close();
      await sink?.close(isImmediate);
    },
  };
}

/** A redacted string, and its JSON. */
interface SafeText {
  readonly text: string;
  readonly json: string;
}

/** What hosts choose of a call. */
interface SafeCall {
  readonly host: SafeText;
  readonly method: SafeText;
  readonly target: SafeText;
}

/** The texts of lines, of which many are the same. */
class CachedTexts {
  readonly #redact: (text: string) => string;
  readonly #safe = new LRUCache<string, SafeText>(entryLimit(MAX_TEXTS));
  /** Chosen by the config or the gateway. */
  readonly #words = new LRUCache<string, string>(entryLimit(MAX_TEXTS));

  constructor(redact: (text: string) => string) {
    this.#redact = redact;
  }

  /** Texts are redacted again. */
  secretsChanged(): void {
    this.#safe.clear();
  }

  ofCall({ host, method, target }: CallRecord): SafeCall {
    return { host: this.#safeText(host), method: this.#safeText(method), target: this.#safeText(target) };
  }

  #safeText(raw: string): SafeText {
    let known = this.#safe.get(raw);
    if (known === undefined) {
      const text = this.#redact(raw);
      known = { text, json: writeJson(text) };
      this.#safe.set(raw, known);
    }
    return known;
  }

  #quoted(word: string): string {
    let known = this.#words.get(word);
    if (known === undefined) {
      known = writeJson(word);
      this.#words.set(word, known);
    }
    return known;
  }

  /** Every call writes one, so its text is assembled from cached JSON. */
  callEvent(record: CallRecord, { host, method, target }: SafeCall, args: RecordedArguments): WrittenEvent {
    const { at, principal, server, decision, rule, outcome, ms, traceId } = record;
    let text = `,"principal":${this.#quoted(principal)}`;
    if (host.text !== "") text += `,"host":${host.json}`;
    text += `,"method":${method.json}`;
    if (target.text !== "") text += `,"target":${target.json}`;
    if (server !== "") text += `,"server":${this.#quoted(server)}`;
    if (decision !== undefined) text += `,"decision":${this.#quoted(decision)}`;
    if (rule !== undefined) text += `,"rule":${this.#quoted(rule)}`;
    text += `,"outcome":${this.#quoted(outcome)},"ms":{"total":${hundredths(ms.total)},"queue":${hundredths(ms.queue)},`;
    text += `"policy":${hundredths(ms.policy)},"upstream":${hundredths(ms.upstream)},"input":${hundredths(ms.input)}}`;
    if ("argumentsDigest" in args) text += `,"argumentsDigest":"${args.argumentsDigest}"`;
    else if ("arguments" in args) text += `,"arguments":${writeJson(args.arguments)}`;
    if (traceId !== undefined) text += `,"traceId":"${traceId}"`;
    return { kind: "call", at: isoTime(at), text };
  }
}

const FOUND = {
  torn: "left with an incomplete last line, which is saved beside it",
  cut: "shorter than its head says",
} as const;

/** Maximum events per call. */
const MAX_QUESTIONS = 32;

/** False for most calls. */
const hasInteractions = (call: Call, reply: Reply): boolean =>
  reply.kind === "input_required" ||
  call.inputResponses !== undefined ||
  call.record?.refusedQuestions !== undefined;

/** The questions of `reply`, those of the call that were refused, and the answers in `call`. */
function interactionEvents(record: CallRecord, call: Call, reply: Reply): readonly AuditEvent[] {
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
  for (const refused of call.record?.refusedQuestions ?? []) {
    events.push({
      kind: "question",
      ...about,
      method: refused.method,
      decision: "deny",
      ...(refused.rule !== undefined && { rule: refused.rule }),
      outcome: "refused",
    });
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
