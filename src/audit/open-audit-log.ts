/** The audit log of a gateway: its events as lines, in the words of the docs. */
import { LRUCache } from "lru-cache";
import type { AuditConfig } from "../config/config.js";
import type { AuditEvent, AuditLog } from "../core/audit.js";
import type { Call, Reply } from "../core/call.js";
import type { CallRecord } from "../core/call-record.js";
import type { Logger } from "../core/logger.js";
import { entryLimit } from "../runtime/cache-limits.js";
import { interactionEvents } from "./interaction-events.js";
import { workerFile } from "./names.js";
import { argumentsReader, type RecordedArguments } from "./recorded-arguments.js";
import { AuditWriter } from "./writer.js";

interface AuditOptions {
  readonly logger: Logger;
  readonly redact: (text: string) => string;
  /** Of several workers each writes its own file. */
  readonly worker?: number | undefined;
  /** The gateway's own version, for the line of the start. */
  readonly version: string;
  /** The config that it starts with. */
  readonly configDigest?: string | undefined;
  /** Default: the time of the system. */
  readonly now?: () => Date;
}

/** Texts that hosts choose, with and without secrets. */
const MAX_TEXTS = 2_000;

/** Opens the log and writes its first line. A file that cannot be opened is a `problem` of the log, and tried again. */
export async function openAuditLog(config: AuditConfig, options: AuditOptions): Promise<AuditLog> {
  const { logger, redact, worker, now } = options;
  const file = worker === undefined ? config.file : workerFile(config.file, worker);
  const writer = new AuditWriter({ file, rotate: config.rotate }, logger, now);
  const found = await writer.open();
  if (found === "torn" || found === "cut")
    logger.warn({ file }, `the audit log was ${FOUND[found]}; its first line of this run says so`);
  const texts = new LRUCache<string, string>(entryLimit(MAX_TEXTS));
  const text = (raw: string): string => {
    if (raw === "") return raw;
    const known = texts.get(raw);
    if (known !== undefined) return known;
    const safe = redact(raw);
    texts.set(raw, safe);
    return safe;
  };
  const readArguments = argumentsReader(config.arguments, redact);
  writer.post({
    kind: "start",
    outcome: found ?? "unopened",
    arguments: { version: options.version, config: options.configDigest ?? null },
  });
  const write = (event: AuditEvent): Promise<boolean> => writer.add(event);

  const call = (record: CallRecord, source: Call, reply: Reply): void => {
    const about = {
      host: text(record.host),
      method: text(record.method),
      target: text(record.target),
    };
    const safe: CallRecord = { ...record, ...about };
    for (const event of interactionEvents(safe, source, reply)) writer.post(event);
    const args = readArguments(source);
    const written =
      args instanceof Promise
        ? args.then((read) => write(callEvent(safe, read)))
        : write(callEvent(safe, args));
    if (source.record !== undefined) source.record.audited = written;
  };

  return {
    required: config.required,
    get problem() {
      return writer.problem;
    },
    get lost() {
      return writer.lost;
    },
    call,
    event: (event) => writer.post(event),
    admin: ({ action, ...done }) => writer.post({ kind: "admin", method: action, ...done }),
    secretsChanged: () => texts.clear(),
    async close() {
      writer.post({ kind: "stop" });
      await writer.close();
    },
  };
}

const FOUND = {
  torn: "left with an unfinished last line, which is kept beside it",
  cut: "shorter than its head says",
} as const;

function callEvent(record: CallRecord, args: RecordedArguments): AuditEvent {
  const { at, principal, host, method, target, server, decision, rule, outcome, ms, traceId } = record;
  return {
    at: new Date(at).toISOString(),
    kind: "call",
    principal,
    ...(host !== "" && { host }),
    method,
    ...(target !== "" && { target }),
    ...(server !== "" && { server }),
    ...(decision !== undefined && { decision }),
    ...(rule !== undefined && { rule }),
    outcome,
    ms: {
      total: rounded(ms.total),
      queue: rounded(ms.queue),
      policy: rounded(ms.policy),
      upstream: rounded(ms.upstream),
      input: rounded(ms.input),
    },
    ...args,
    ...(traceId !== undefined && { traceId }),
  };
}

const rounded = (ms: number): number => Math.round(ms * 100) / 100;
