/** Which credentials the requests of a channel carry, and what becomes of one that the server refuses for them. */
import { describe, expect, onTestFinished, test } from "vitest";
import { openSseChannel } from "../../../src/upstream/transport/sse.js";
import { FakeStore, unreachable } from "../../support/fake-credentials.js";
import { answer, event, type Respond, stream } from "../../support/servers/scripted-http.js";
import { until } from "../../support/until.js";
import { failure, open, request, serve } from "./http-support.js";

/** Answers those who have `token`, and refuses all others. */
const guarded =
  (token: () => string, respond: Respond = (asked, response) => answer(asked, response)): Respond =>
  (asked, response) => {
    if (asked.headers.authorization === `Bearer ${token()}`) respond(asked, response);
    else response.writeHead(401, { "www-authenticate": 'Bearer realm="quiz"' }).end("no");
  };

const of = (store: FakeStore, { areUsed = true } = {}) => {
  const inner = store.of("quiz", "alice");
  return {
    areUsed,
    get header() {
      return inner.header;
    },
    obtain: inner.obtain,
    onRejected: inner.onRejected,
  };
};

const signedIn = (token = "one"): FakeStore => {
  const store = new FakeStore();
  store.signIn("quiz", "alice", token);
  return store;
};

const headersOf = (server: { readonly asked: readonly { readonly headers: object }[] }) =>
  server.asked.map(({ headers }) => (headers as { authorization?: string }).authorization);

describe("every request of a channel with credentials", () => {
  test("carries the current header", async () => {
    const server = await serve((asked, response) => answer(asked, response));
    const store = signedIn();
    const channel = open(server.url, { credentials: of(store) });
    const headers = { "mcp-session-id": "s" };
    await channel.exchange(request, { headers });
    store.signIn("quiz", "alice", "two");
    await channel.exchange(request, { headers });
    await channel.post({ jsonrpc: "2.0", method: "notifications/initialized" }, { headers });
    await channel.close({ headers });
    expect(server.asked.map(({ method }) => method)).toEqual(["POST", "POST", "POST", "DELETE"]);
    expect(headersOf(server)).toEqual(["Bearer one", "Bearer two", "Bearer two", "Bearer two"]);
    expect(store.obtained).toBe(0);
  });

  test("waits for a missing header, and fails with the reason if there is none", async () => {
    const server = await serve((asked, response) => answer(asked, response));
    const store = new FakeStore();
    const credentials = { ...of(store), header: undefined, obtain: async () => "Bearer late" };
    await open(server.url, { credentials }).exchange(request);
    expect(headersOf(server)).toEqual(["Bearer late"]);
    const error = await failure(open(server.url, { credentials: of(store) }).exchange(request));
    expect(error).toMatchObject({ code: "sign_in_required", retryable: false });
    const away = { ...credentials, obtain: () => Promise.reject(unreachable("quiz")) };
    expect(await failure(open(server.url, { credentials: away }).exchange(request))).toMatchObject({
      code: "upstream_unavailable",
      message: "the login of quiz cannot be reached",
    });
    expect(server.asked).toHaveLength(1);
  });

  test("is cancelled while it waits for one", async () => {
    const server = await serve((asked, response) => answer(asked, response));
    const giveUp = new AbortController();
    let waited: { readonly aborted: boolean } | undefined;
    const credentials = {
      ...of(new FakeStore()),
      header: undefined,
      obtain: (signal: { readonly aborted: boolean }) => {
        waited = signal;
        return new Promise<string>(() => {});
      },
    };
    const channel = open(server.url, { credentials });
    const exchanged = failure(channel.exchange(request, { signal: giveUp.signal }));
    giveUp.abort();
    expect(await exchanged).toMatchObject({ code: "cancelled" });
    expect(waited?.aborted).toBe(true);
    expect(server.asked).toHaveLength(0);
  });

  test("follows a redirect within the origin with it, and none to another origin", async () => {
    const other = await serve((asked, response) => answer(asked, response));
    const server = await serve((asked, response) => {
      if (asked.path === "/mcp") response.writeHead(307, { location: "/mcp/2" }).end();
      else if (asked.path === "/mcp/2") response.writeHead(307, { location: other.url }).end();
      else answer(asked, response);
    });
    expect(await failure(open(server.url, { credentials: of(signedIn()) }).exchange(request))).toMatchObject({
      message: expect.stringContaining("is not followed there"),
    });
    expect(headersOf(server)).toEqual(["Bearer one", "Bearer one"]);
    expect(other.asked).toHaveLength(0);
  });

  test("carries none while the server requires none", async () => {
    const server = await serve((asked, response) => answer(asked, response));
    await open(server.url, { credentials: of(signedIn(), { areUsed: false }) }).exchange(request);
    expect(headersOf(server)).toEqual([undefined]);
  });
});

describe("a request that the server refuses for its credentials", () => {
  test("is sent again with new ones, with its complete body", async () => {
    const server = await serve(guarded(() => "two"));
    const store = signedIn();
    store.renew = () => "two";
    const large = { ...request, params: { name: "start", arguments: { text: "x".repeat(100_000) } } };
    const { message } = await open(server.url, { credentials: of(store) }).exchange(large);
    expect(message.result).toBeDefined();
    expect(server.asked.map(({ body }) => body)).toEqual([JSON.stringify(large), JSON.stringify(large)]);
    expect(headersOf(server)).toEqual(["Bearer one", "Bearer two"]);
    expect(store.rejected).toEqual([
      {
        principal: "alice",
        status: 401,
        challenge: 'Bearer realm="quiz"',
        sentHeader: "Bearer one",
        attempts: 1,
      },
    ]);
  });

  test("fails with the error of the credentials", async () => {
    const server = await serve(guarded(() => "other"));
    const error = await failure(open(server.url, { credentials: of(signedIn()) }).exchange(request));
    expect(error).toMatchObject({ code: "sign_in_required", options: { server: "quiz" } });
    expect(server.asked).toHaveLength(1);
  });

  test("is not sent repeatedly", async () => {
    const server = await serve(guarded(() => "other"));
    const store = signedIn();
    store.renew = (_, { attempts }) => `token-${attempts}`;
    const error = await failure(open(server.url, { credentials: of(store) }).exchange(request));
    expect(error).toMatchObject({ code: "upstream_unavailable", message: expect.stringContaining("401") });
    expect(store.rejected.map(({ attempts }) => attempts)).toEqual([1, 2]);
    expect(server.asked).toHaveLength(3);
  });

  test("for its scopes is renewed too; another 403 is the server's answer", async () => {
    let challenge = 'Bearer error="insufficient_scope", scope="write"';
    const server = await serve((asked, response) => {
      if (asked.headers.authorization === "Bearer wide") answer(asked, response);
      else response.writeHead(403, { "www-authenticate": challenge }).end();
    });
    const store = signedIn();
    store.renew = () => "wide";
    await open(server.url, { credentials: of(store) }).exchange(request);
    expect(store.rejected).toMatchObject([{ status: 403, challenge }]);
    challenge = "Bearer";
    const channel = open(server.url, { credentials: of(signedIn()) });
    expect(await failure(channel.exchange(request))).toMatchObject({ code: "upstream_rejected" });
  });

  test("without credentials reports them as required, if the server had not required any before", async () => {
    const server = await serve(guarded(() => "one"));
    const store = signedIn();
    await open(server.url, { credentials: of(store, { areUsed: false }) }).exchange(request);
    expect(headersOf(server)).toEqual([undefined, "Bearer one"]);
    expect(store.rejected).toMatchObject([{ sentHeader: undefined, attempts: 1 }]);
  });

  test("without a credential source is answered unchanged", async () => {
    const server = await serve(guarded(() => "one"));
    expect(await failure(open(server.url).exchange(request))).toMatchObject({
      code: "upstream_unavailable",
      message: expect.stringContaining("401 Unauthorized"),
    });
  });
});

describe("streams", () => {
  test("a response stream is resumed with the current token", async () => {
    const server = await serve(
      guarded(
        () => (server.asked.length < 2 ? "one" : "two"),
        (asked, response) => {
          if (asked.method === "POST") stream(response, "id: 1\nretry: 10\ndata:\n\n").end();
          else stream(response, event({ jsonrpc: "2.0", id: request.id, result: {} })).end();
        },
      ),
    );
    const store = signedIn();
    store.renew = () => "two";
    const { message } = await open(server.url, { credentials: of(store) }).exchange(request);
    expect(message.result).toEqual({});
    expect(headersOf(server)).toEqual(["Bearer one", "Bearer one", "Bearer two"]);
  });

  test("an event stream is opened with them, and lost when they are finally refused", async () => {
    let token = "one";
    let events: ReturnType<typeof stream> | undefined;
    const server = await serve(
      guarded(
        () => token,
        (_, response) => {
          events = stream(response, "retry: 10\n\n");
        },
      ),
    );
    const lost: unknown[] = [];
    const channel = open(server.url, { credentials: of(signedIn()) });
    const listening = channel.listen(() => {}, { onLost: (reason) => lost.push(reason) });
    onTestFinished(() => listening.stop());
    expect(await listening.opened).toBe(true);
    token = "other";
    events?.end();
    await until("the stream to be lost", () => lost.length > 0);
    expect(lost).toMatchObject([{ code: "sign_in_required" }]);
  });

  test("of the HTTP+SSE transport carry them, and its messages", async () => {
    let events: ReturnType<typeof stream> | undefined;
    const server = await serve(
      guarded(
        () => "one",
        (asked, response) => {
          if (asked.method === "GET") events = stream(response, "event: endpoint\ndata: /messages\n\n");
          else {
            response.writeHead(202).end();
            events?.write(event({ jsonrpc: "2.0", id: request.id, result: {} }));
          }
        },
      ),
    );
    const options = { name: "quiz", url: server.url, headers: {}, connectTimeoutMs: 60_000 };
    const channel = await openSseChannel({ ...options, credentials: of(signedIn()) });
    onTestFinished(() => channel.close());
    await channel.exchange(request);
    expect(headersOf(server)).toEqual(["Bearer one", "Bearer one"]);
    const refused = openSseChannel({ ...options, credentials: of(new FakeStore()) });
    expect(await failure(refused)).toMatchObject({ code: "sign_in_required" });
  });
});
