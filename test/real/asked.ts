/** Hosts that can be asked: answers that tell which host gave them, and what it was asked. */
import type { Answers, AskableHost } from "../support/peers/askable.js";

/** Answers in which the name of the host stands, so that an answer that went astray is seen. */
export const answersOf = (name: string): Answers => ({
  elicit: ({ mode }) =>
    mode === "url" ? { action: "accept" } : { action: "accept", content: { name, ok: true } },
  sample: () => ({ role: "assistant", model: "test", content: { type: "text", text: `${name} thinks so` } }),
  roots: () => ({ roots: [{ uri: `file:///home/${name}`, name }] }),
});

/** The methods of its questions, in order. */
export const questionsOf = (host: AskableHost): readonly string[] => host.asked.map(({ method }) => method);
