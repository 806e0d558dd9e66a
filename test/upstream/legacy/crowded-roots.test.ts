/** A principal with more calls than connections: its calls share one, whose server gets the roots of no host then. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { legacyServer, SILENCE } from "../../support/fake-channel.js";
import { calling, client, meet } from "../../support/met-upstream.js";
import { answering, asked } from "./questions-support.js";

const ROOTS = { roots: [{ uri: "file:///one" }] };
const PER_PRINCIPAL = 8;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test.each([
  ["while it is the only one, and the other call comes before the answer", true],
  ["while the other call runs", false],
])(
  "a call that is asked for roots %s does not give them to the server of both",
  async (_when, asksBefore) => {
    let ask: () => void = () => {};
    const mayAsk = asksBefore ? undefined : new Promise<void>((resolve) => (ask = resolve));
    const server = legacyServer().on("tools/call", async ({ name }, from) => {
      if (name !== "roots") return SILENCE;
      await mayAsk;
      const { result, error } = await from.ask("roots/list");
      return { told: result ?? error };
    });
    const { upstream } = await meet(server);
    const host = client({ capabilities: { roots: {} } });
    const one = calling({ client: host, params: { name: "roots", arguments: {} } });
    const first = upstream.call(one.call);
    await vi.advanceTimersByTimeAsync(2_000);
    const others = Array.from({ length: PER_PRINCIPAL }, () => calling({ client: host }));
    const replies = others.map(({ call }) => upstream.call(call).catch((error: unknown) => error));
    await vi.advanceTimersByTimeAsync(11_000);
    const lastChannel = server.sent("tools/call").at(-1)?.channel;
    expect(server.sent("tools/call")).toHaveLength(PER_PRINCIPAL + 1);
    expect(lastChannel).toBe(server.sent("tools/call")[0]?.channel);
    ask();
    await vi.advanceTimersByTimeAsync(100);
    let reply = await first;
    if (asksBefore) {
      const { state, keys } = asked(reply);
      reply = await upstream.call(answering(one, { responses: { [keys[0] ?? ""]: ROOTS }, state }).call);
    }
    expect(JSON.stringify(reply)).not.toContain("file:///one");
    expect(reply).toMatchObject({
      kind: "result",
      result: { object: { told: { code: expect.any(Number) } } },
    });
    for (const { giveUp } of others) giveUp();
    await Promise.all(replies);
    await upstream.close();
  },
);
