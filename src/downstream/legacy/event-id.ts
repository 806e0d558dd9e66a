/** What does the id of an event say? Enough for a replica without the events of a stream to end it truthfully. */
import { randomBytes } from "node:crypto";
import { isMessageId, type MessageId } from "../../wire/envelope.js";
import { parseJson, writeJson } from "../../wire/json-text.js";

/** `call`: what was sent with, and instead of, the JSON answer to a POST. `general`: a GET. */
export type StreamKind = "call" | "general";

/** An event of a stream. */
export interface EventId {
  readonly kind: StreamKind;
  readonly stream: number;
  readonly seq: number;
  /** The log that keeps the event; numbers of streams are unique in it. Absent in ids of earlier versions. */
  readonly log?: string;
  /** The requests that the stream had not answered up to this event; undefined where they are too long to be named. */
  readonly awaited: readonly MessageId[] | undefined;
}

/** Longer lists of requests are not named, as the id comes back in a header. In characters. */
const MAX_AWAITED_LENGTH = 1024;
const FORM = new RegExp(
  `^(call|general)-(\\d{1,15})-(\\d{1,15})(?:-([0-9a-f]{6})(?:-([\\w-]{0,${MAX_AWAITED_LENGTH}}))?)?$`,
);

/** The name of a new log: another process that opens the same session, or this one a second time, has another. */
export const newLogName = (): string => randomBytes(3).toString("hex");

/** The end of the ids of events after which `awaited` have no response yet. */
export function awaitedText(awaited: readonly MessageId[]): string {
  if (awaited.length === 0) return "";
  const text = Buffer.from(writeJson(awaited)).toString("base64url");
  return text.length > MAX_AWAITED_LENGTH ? "-" : `-${text}`;
}

/** What the id of an event says; undefined when it is none of ours. */
export function readEventId(id: string): EventId | undefined {
  const found = FORM.exec(id);
  if (found === null) return undefined;
  const [, kind, stream, seq, log, awaited] = found;
  return {
    kind: kind === "call" ? "call" : "general",
    stream: Number(stream),
    seq: Number(seq),
    ...(log !== undefined && { log }),
    awaited: log === undefined ? undefined : readAwaited(awaited),
  };
}

function readAwaited(text: string | undefined): readonly MessageId[] | undefined {
  if (text === undefined) return [];
  let ids: unknown;
  try {
    ids = parseJson(Buffer.from(text, "base64url").toString());
  } catch {
    return undefined;
  }
  return Array.isArray(ids) && ids.every(isMessageId) ? ids : undefined;
}
