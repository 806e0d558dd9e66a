/** The sink of an audit log: each line is posted until it is accepted, in order, over restarts. */
import { appendFileSync, rmSync } from "node:fs";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { type Logger, SILENT } from "../../../../src/core/logger.js";
import { rotatedFiles } from "../../../../src/features/audit/names.js";
import { openAuditLog } from "../../../../src/features/audit/open-audit-log.js";
import type { AuditConfig } from "../../../../src/features/audit/section.js";
import type { WebhookMessage, WebhookOutcome } from "../../../../src/outgoing/webhook.js";
import { until } from "../../../support/until.js";
import { faultsOf, linesOf, newLog } from "../logs.js";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

interface Posted {
  readonly type: string;
  readonly timestamp: string;
  readonly data: {
    readonly log: string;
    readonly from: number;
    readonly to: number;
    readonly lines: readonly object[];
  };
}

const REFUSAL: WebhookOutcome = { kind: "refused", reason: "it answered with 503" };

/** A receiver that accepts, until it has a refusal. */
class Receiver {
  readonly messages: WebhookMessage[] = [];
  readonly refused: WebhookMessage[] = [];
  refusal: WebhookOutcome | undefined;

  async post(message: WebhookMessage): Promise<WebhookOutcome> {
    if (this.refusal !== undefined) {
      this.refused.push(message);
      return this.refusal;
    }
    this.messages.push(message);
    return { kind: "accepted" };
  }

  async close(): Promise<void> {}

  get posted(): readonly Posted[] {
    return this.messages.map(({ body }) => JSON.parse(body) as Posted);
  }

  /** The text of each line that it has. */
  get lines(): readonly string[] {
    return this.posted.flatMap(({ data }) => data.lines.map((line) => JSON.stringify(line)));
  }
}

/** A log that is posted to `webhook`. */
async function openLog(
  file: string,
  webhook: Receiver,
  more: { rotate?: AuditConfig["rotate"]; logger?: Logger } = {},
) {
  const { rotate = { sizeBytes: 1e9 }, logger = SILENT } = more;
  const log = await openAuditLog(
    {
      ...{ file, rotate, key: undefined, required: false, arguments: "digest" },
      sink: { url: "https://collector.example/hook?token=of-the-collector" },
    },
    { logger, redact: (text) => text, version: "0.0.0-test", webhook },
  );
  onTestFinished(() => log.close(true));
  const { sink } = log;
  if (sink === undefined) throw new Error("the log has no sink");
  return Object.assign(log, { sink });
}

/** Lets time pass until `isDone`. */
const attempt = (isDone: () => boolean): Promise<unknown> =>
  until("the attempt", () => {
    vi.runOnlyPendingTimers();
    return isDone();
  });

test("lines are posted together, each as it is written", async () => {
  const file = newLog();
  const receiver = new Receiver();
  const log = await openLog(file, receiver);
  log.event({ kind: "admin", method: "restart_server", target: "files" });
  expect(log.sink.unsent).toBe(2);
  await attempt(() => log.sink.unsent === 0);
  expect(receiver.lines).toEqual(linesOf(file));
  expect(receiver.posted).toMatchObject([
    { type: "audit.lines", data: { log: "audit.jsonl", from: 1, to: 2 } },
  ]);
  expect(receiver.posted[0]?.timestamp).toBe((JSON.parse(receiver.lines[1] ?? "") as { at: string }).at);
  expect(receiver.messages[0]?.id).toMatch(/^audit_1_2_[0-9a-f]{16}$/);
});

test("a batch that is refused is posted again under its id, and lines that were written meanwhile come after it", async () => {
  const file = newLog();
  const receiver = new Receiver();
  const lines: string[] = [];
  const line = (fields: object, text: string): void => void lines.push(`${text} ${JSON.stringify(fields)}`);
  const log = await openLog(file, receiver, { logger: { ...SILENT, error: line, info: line } });
  receiver.refusal = REFUSAL;
  await attempt(() => receiver.refused.length === 1);
  await attempt(() => receiver.refused.length === 2);
  expect(log.sink.problem).toBe("it answered with 503");
  expect(receiver.refused[0]).toEqual(receiver.refused[1]);
  receiver.refusal = undefined;
  await attempt(() => log.sink.unsent === 0);
  expect(receiver.messages[0]).toEqual(receiver.refused[0]);
  expect(log.sink.problem).toBeUndefined();
  log.event({ kind: "admin" });
  await attempt(() => log.sink.unsent === 0);
  expect(receiver.lines).toEqual(linesOf(file));
  expect(lines).toEqual([
    `lines of the audit log are not accepted: it answered with 503 ${JSON.stringify({ file, url: "https://collector.example/hook" })}`,
    `lines of the audit log are accepted again ${JSON.stringify({ file })}`,
  ]);
});

test("what was not accepted before a stop is posted by the next process, and nothing twice", async () => {
  const file = newLog();
  const receiver = new Receiver();
  const first = await openLog(file, receiver);
  await attempt(() => first.sink.unsent === 0);
  receiver.refusal = REFUSAL;
  first.event({ kind: "admin", target: "while the receiver is away" });
  await first.close(false);
  receiver.refusal = undefined;
  const second = await openLog(file, receiver);
  await attempt(() => second.sink.unsent === 0);
  await second.close(false);
  expect(receiver.lines).toEqual(linesOf(file));
  expect(receiver.posted.map(({ data }) => data.from)).toEqual([1, 2, 5]);
});

test("the last line of a stop is posted with the stop, and not where the process ends at once", async () => {
  const file = newLog();
  const receiver = new Receiver();
  await (await openLog(file, receiver)).close(false);
  expect(receiver.lines).toEqual(linesOf(file));
  await (await openLog(file, receiver)).close(true);
  expect(receiver.lines).toEqual(linesOf(file).slice(0, 2));
});

test("a rotated file stays until its lines are accepted, whatever `keep` says", async () => {
  const file = newLog();
  const receiver = new Receiver();
  const log = await openLog(file, receiver, { rotate: { sizeBytes: 1, keep: 1 } });
  receiver.refusal = REFUSAL;
  const write = async (): Promise<void> => {
    const before = log.sink.unsent;
    log.event({ kind: "admin" });
    await until("the line", () => log.sink.unsent > before);
  };
  for (let n = 0; n < 4; n += 1) await write();
  expect(await rotatedFiles(file)).toHaveLength(4);
  receiver.refusal = undefined;
  await attempt(() => log.sink.unsent === 0);
  expect(receiver.posted.flatMap(({ data }) => data.lines)).toHaveLength(5);
  await write();
  expect(await rotatedFiles(file)).toHaveLength(1);
  await log.close(false);
  expect(await faultsOf(file)).toEqual([]);
});

test("a line with a number that nothing was written under is posted as a text, and the lines after it as they are", async () => {
  const file = newLog();
  const receiver = new Receiver();
  const log = await openLog(file, receiver);
  await attempt(() => log.sink.unsent === 0);
  const forged = `{"seq":9000000000000000,"hash":"${"0".repeat(64)}"}`;
  appendFileSync(file, `${forged}\n`);
  log.event({ kind: "admin", target: "a" });
  log.event({ kind: "admin", target: "b" });
  await attempt(() => receiver.lines.length === 4);
  expect(receiver.lines[1]).toBe(JSON.stringify(forged));
  expect(receiver.lines.slice(2)).toEqual(linesOf(file).slice(2));
});

test("a new log instead of the old one is posted from its first line", async () => {
  const file = newLog();
  const receiver = new Receiver();
  for (let n = 0; n < 3; n += 1) await (await openLog(file, receiver)).close(false);
  rmSync(file);
  rmSync(`${file}.head`);
  const before = receiver.lines.length;
  await (await openLog(file, receiver)).close(false);
  expect(receiver.lines.slice(before)).toEqual(linesOf(file));
});
