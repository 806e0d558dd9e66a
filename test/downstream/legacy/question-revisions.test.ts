/** How a question is written for the revision of a legacy host. */
import { describe, expect, test } from "vitest";
import { textReply } from "../../support/fake-port.js";
import { askedHost, asks } from "./questions-support.js";
import type { Message } from "./support.js";

describe("the format of a question", () => {
  const seenBy = async (version: string, question: object): Promise<Message> => {
    const { host, events } = await askedHost({ version }, asks({ q: question }), textReply("ok"));
    const message = await events.message();
    await host.respond(message.id, { action: "decline" });
    await events.rest();
    return message;
  };

  test("of a URL has an elicitationId for 2025-11-25: the server's, or one that is made", async () => {
    const url = (more: object) => ({
      method: "elicitation/create",
      params: { mode: "url", message: "m", url: "https://x.test/", ...more },
    });
    const made = await seenBy("2025-11-25", url({}));
    expect(made.params).toEqual({
      ...url({}).params,
      elicitationId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
    expect((await seenBy("2025-11-25", url({ elicitationId: "mine" }))).params?.elicitationId).toBe("mine");
  });

  test("as a form has no mode for 2025-06-18, and enums as that revision wrote them", async () => {
    const titled = {
      type: "string",
      title: "Colour",
      oneOf: [{ const: "#f00", title: "Red" }, { const: "#0f0" }],
      default: "#f00",
    };
    const several = { type: "array", items: { anyOf: [{ const: "a", title: "A" }] } };
    const question = {
      method: "elicitation/create",
      params: {
        mode: "form",
        message: "m",
        requestedSchema: {
          type: "object",
          properties: { titled, several, odd: { oneOf: [{ type: "null" }] } },
        },
      },
    };
    const older = await seenBy("2025-06-18", question);
    expect(older.params).toEqual({
      message: "m",
      requestedSchema: {
        type: "object",
        properties: {
          titled: {
            type: "string",
            title: "Colour",
            enum: ["#f00", "#0f0"],
            enumNames: ["Red", "#0f0"],
            default: "#f00",
          },
          several,
          odd: { oneOf: [{ type: "null" }] },
        },
      },
    });
    expect((await seenBy("2025-11-25", question)).params).toEqual(question.params);
  });

  test("of a completion has no sound in it for 2024-11-05", async () => {
    const sound = { type: "audio", data: "AAAA", mimeType: "audio/wav" };
    const question = {
      method: "sampling/createMessage",
      params: { messages: [{ role: "user", content: sound }], maxTokens: 1 },
    };
    const older = await seenBy("2024-11-05", question);
    expect(older.params?.messages).toMatchObject([{ role: "user", content: { type: "text" } }]);
    expect((await seenBy("2025-03-26", question)).params).toEqual(question.params);
  });
});
