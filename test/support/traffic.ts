/** Recorded traffic, held message by message against the schema of the revision that its conversation speaks. */

import { REVISIONS, type Revision } from "./official-schemas.js";
import type { Json } from "./peers/host.js";
import type { Recorded } from "./tap.mjs";
import { type Sender, schemaErrors } from "./wire-schema.js";

const VERSION_KEY = "io.modelcontextprotocol/protocolVersion";

export interface Findings {
  /** How many messages of each sender were checked, by revision and method; responses count as what they answer. */
  readonly seen: ReadonlySet<string>;
  /** Each message that is wrong: who sent it, what is wrong, and the message itself. */
  readonly wrong: readonly string[];
}

/** Checks every message of `traffic` that `sender` has sent. */
export function checkTraffic(traffic: readonly Recorded[], sender: Sender): Findings {
  const seen = new Set<string>();
  const wrong: string[] = [];
  for (const conversation of byConversation(traffic)) {
    const legacy = negotiatedIn(conversation);
    const asked = new Map<string, { readonly method: string; readonly revision: Revision }>();
    for (const { from, message } of conversation.flatMap(unbatch)) {
      const { id, method } = message;
      const revision = revisionOf(message) ?? legacy ?? "2026-07-28";
      const isRequest = typeof method === "string" && id !== undefined;
      if (isRequest) asked.set(keyOf(from, id), { method, revision });
      if (from !== sender) continue;

      const question = typeof method === "string" ? undefined : asked.get(keyOf(other(from), id));
      const context = {
        revision: question?.revision ?? revision,
        sender,
        ...(question && { answers: question.method }),
      };
      seen.add(
        `${context.revision} ${typeof method === "string" ? method : `answer to ${question?.method}`}`,
      );
      for (const error of schemaErrors(message, context)) {
        wrong.push(`${sender}, ${context.revision}: ${error} in ${JSON.stringify(message).slice(0, 600)}`);
      }
    }
  }
  return { seen, wrong };
}

function byConversation(traffic: readonly Recorded[]): readonly (readonly Recorded[])[] {
  const conversations = new Map<string, Recorded[]>();
  for (const recorded of traffic) {
    conversations.set(recorded.conversation, [...(conversations.get(recorded.conversation) ?? []), recorded]);
  }
  return [...conversations.values()];
}

const unbatch = ({ from, message }: Recorded): readonly { from: Sender; message: Json }[] =>
  (Array.isArray(message) ? (message as Json[]) : [message as Json]).map((one) => ({ from, message: one }));
const other = (sender: Sender): Sender => (sender === "client" ? "server" : "client");
const keyOf = (from: Sender, id: unknown): string => `${from} ${typeof id} ${String(id)}`;

/** The revision that a modern request says it is of. */
function revisionOf({ params }: Json): Revision | undefined {
  const version = ((params as Json | undefined)?._meta as Json | undefined)?.[VERSION_KEY];
  return typeof version === "string" && isRevision(version) ? version : undefined;
}

/** The revision that was agreed on by `initialize`, if there was one in this conversation. */
function negotiatedIn(conversation: readonly Recorded[]): Revision | undefined {
  for (const { message } of conversation) {
    const version = ((message as Json).result as Json | undefined)?.protocolVersion;
    if (typeof version === "string" && isRevision(version)) return version;
  }
  return undefined;
}

const isRevision = (version: string): version is Revision =>
  (REVISIONS as readonly string[]).includes(version);
