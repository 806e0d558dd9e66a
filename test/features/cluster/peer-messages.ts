/** What replicas tell each other, in memory: each sees all others, unless it is cut off from them. */

import type { Replica } from "../../../src/core/replicas.js";
import type { PeerMessages, PeerReplies } from "../../../src/features/cluster/peer-messages.js";
import type { JsonObject } from "../../../src/wire/json.js";

type Answer = (message: JsonObject, from: string) => JsonObject;

export interface MessagesInMemory extends PeerMessages {
  /** Whether others reach it, and it them. */
  isCutOff: boolean;
  /** Whether its process has ended, which others see at once. */
  isGone: boolean;
}

/** Makes the messages of each replica of one cluster. */
export function messagesInMemory(): (id: string) => MessagesInMemory {
  const all = new Map<
    string,
    { readonly messages: MessagesInMemory; readonly answers: Map<string, Answer> }
  >();
  return (id) => {
    const answers = new Map<string, Answer>();
    const messages: MessagesInMemory = {
      isCutOff: false,
      isGone: false,
      others: () =>
        [...all.keys()].filter((each) => each !== id && !all.get(each)?.messages.isGone).map(replica),
      answer: (topic, answer) => void answers.set(topic, answer),
      async ask(topic, message, replicas = messages.others()): Promise<PeerReplies> {
        await Promise.resolve();
        const reached = replicas.filter(
          (each) => !messages.isCutOff && all.get(each.id)?.messages.isCutOff !== true,
        );
        const answered = reached.flatMap((each) => {
          const answer = all.get(each.id)?.answers.get(topic);
          const copy = JSON.parse(JSON.stringify(message)) as JsonObject;
          return answer === undefined ? [] : [{ from: each.id, answer: answer(copy, id) }];
        });
        const unreached = replicas.filter((each) => !reached.includes(each)).map((each) => each.id);
        return { answers: answered, unreached };
      },
    };
    all.set(id, { messages, answers });
    return messages;
  };
}

const replica = (id: string): Replica => ({ id, url: `http://${id}:1`, version: "1", isLeaving: false });
