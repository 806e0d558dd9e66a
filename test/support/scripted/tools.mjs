/**
 * The tools of a scripted server, for any era and transport.
 *
 * A tool that asks is a generator: it yields its questions, by keys, receives their outcomes (`{ result }`, `{ error
 * }`, or `{}` without an answer), and returns the result of the tool. A legacy server keeps it suspended; a modern one
 * runs it again with the answers so far, like stateless servers.
 */

/** Yielded by a tool that works until it is cancelled. */
export const UNTIL_CANCELLED = Symbol("until cancelled");

const say = (value) => ({
  content: [{ type: "text", text: typeof value === "string" ? value : JSON.stringify(value) }],
});

export const SAMPLING = {
  method: "sampling/createMessage",
  params: {
    messages: [{ role: "user", content: { type: "text", text: "What opens what is shut?" } }],
    modelPreferences: { hints: [{ name: "small" }], costPriority: 0.3, vendorPriority: 1 },
    systemPrompt: "Be short.",
    includeContext: "thisServer",
    temperature: 0.2,
    maxTokens: 50,
    stopSequences: ["."],
    metadata: { vendor: { deep: [1] } },
  },
};

export const SAMPLING_WITH_TOOLS = {
  method: "sampling/createMessage",
  params: {
    messages: [
      { role: "user", content: [{ type: "image", data: "aW1hZ2U=", mimeType: "image/png", vendor: 1 }] },
      { role: "assistant", content: [{ type: "tool_use", id: "u1", name: "look", input: { at: "hinge" } }] },
      {
        role: "user",
        content: [
          { type: "tool_result", toolUseId: "u1", content: [{ type: "text", text: "It is shut." }] },
          { type: "audio", data: "c291bmQ=", mimeType: "audio/wav" },
        ],
      },
    ],
    tools: [{ name: "look", inputSchema: { type: "object", properties: { at: { type: "string" } } } }],
    toolChoice: { mode: "required" },
    maxTokens: 100,
  },
};

/** Every type of field of 2025-11-25, with defaults, and an unknown keyword. */
export const FORM = {
  method: "elicitation/create",
  params: {
    mode: "form",
    message: "Who is at the door?",
    requestedSchema: {
      type: "object",
      properties: {
        name: { type: "string", title: "Name", minLength: 1, maxLength: 40, default: "Ann", pattern: "." },
        mail: { type: "string", format: "email" },
        age: { type: "integer", minimum: 0, default: 7 },
        height: { type: "number", maximum: 3 },
        friend: { type: "boolean", default: true },
        color: { type: "string", enum: ["red", "blue"] },
        size: {
          type: "string",
          oneOf: [
            { const: "s", title: "Small" },
            { const: "l", title: "Large" },
          ],
        },
        days: { type: "array", items: { type: "string", enum: ["mo", "tu"] }, minItems: 1, default: ["mo"] },
        meals: { type: "array", items: { anyOf: [{ const: "b", title: "Breakfast" }] } },
      },
      required: ["name"],
    },
  },
};

export const ROOTS = { method: "roots/list" };

const url = (elicitationId) => ({
  method: "elicitation/create",
  params: {
    mode: "url",
    message: "Please sign in.",
    url: "https://example.test/in?a=1",
    ...(elicitationId !== undefined && { elicitationId }),
  },
});

const question = (message) => ({
  method: "elicitation/create",
  params: {
    mode: "form",
    message,
    requestedSchema: { type: "object", properties: { it: { type: "string" } } },
  },
});

/** Asks one thing and answers with what became of it. */
function* ask(questions) {
  return say(yield questions);
}

/** @type {Record<string, (args: any, era: "legacy" | "modern") => Generator>} */
export const ASKING = {
  sampling: () => ask({ one: SAMPLING }),
  sampling_with_tools: () => ask({ one: SAMPLING_WITH_TOOLS }),
  form: () => ask({ one: FORM }),
  url: ({ label }, era) => ask({ one: url(era === "legacy" ? `visit ${label}` : undefined) }),
  roots: () => ask({ one: ROOTS }),
  two: () => ask({ one: SAMPLING, two: question("And you?") }),
  /** Asks whatever its caller says. */
  ask_this: ({ questions }) => ask(questions),
  *three() {
    const answers = [];
    for (const number of ["first", "second", "third"]) {
      const { [number]: answer } = yield { [number]: question(`The ${number}?`) };
      answers.push(answer);
    }
    return say(answers);
  },
  *ask_and_work() {
    yield { one: question("Shall I?") };
    yield UNTIL_CANCELLED;
  },
};

/**
 * Tools that ask nothing. `room` says things on the call's own stream, and knows the world.
 *
 * @type {Record<string, (args: any, room: any) => unknown>}
 */
export const PLAIN = {
  echo: ({ text }) => say(String(text)),
  process_id: () => say(String(process.pid)),
  /** Answers with whatever its caller says. */
  answer_this: ({ result }) => result,
  /** Refuses with whatever its caller says. */
  refuse_with({ error: { code, message, data } }) {
    throw Object.assign(new Error(message), { code, data });
  },
  /** A line of each level, and how far it has come, before the answer, which is `text`. */
  async work({ steps = 3, text = "worked" }, room) {
    for (let step = 1; step <= steps; step += 1) {
      await room.pause();
      for (const level of ["debug", "info", "error"]) room.log(level, `${level} ${step}`);
      room.progress(step, steps);
    }
    return say(text);
  },
  /** Logs a line of each level outside of any call. */
  talk_later(_args, room) {
    setTimeout(() => {
      for (const level of ["debug", "error"]) room.talk(level, `later ${level}`);
    }, 30);
    return say("later");
  },
  /** A resource was written to. */
  touch({ uri }, room) {
    room.touch(uri);
    return say("touched");
  },
  /** Asks for the roots at a time when no call is under way. */
  ask_later(_args, room) {
    setTimeout(() => room.askLater(ROOTS), 30);
    return say("later");
  },
  /** Asks, and takes the question back when `let_go` is called. */
  async take_back({ label }, room) {
    void room.ask(question("Never mind?"));
    await room.gate(label).opened;
    room.takeBack();
    return say("went on without");
  },
  let_go({ label }, room) {
    room.gate(label).open();
    return say("let go");
  },
  /** Wants a person to visit a page first, as 2025-11-25 says it. */
  sign_in({ label }, room) {
    if (room.visited(label)) return say("signed in");
    room.visitSoon(label);
    const { params } = url(`sign in ${label}`);
    throw Object.assign(new Error("Sign in first."), { code: -32042, data: { elicitations: [params] } });
  },
};

export const RESOURCES = ["memo://one", "memo://two", "memo://secret"];
/** A resource that is listed and whose updates are never sent. */
export const SECRET = "memo://secret";

export const LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

const ANY = { type: "object" };
export const TOOLS = [...Object.keys(ASKING), ...Object.keys(PLAIN)].map((name) => ({
  name,
  inputSchema: ANY,
}));
export const CAPABILITIES = {
  tools: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  logging: {},
};
