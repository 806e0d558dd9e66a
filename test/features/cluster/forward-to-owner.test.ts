/** Errors of a host when the process that owns its session is gone, unreachable, or ends during a request. */
import { Agent, createServer as createHttp, type RequestListener } from "node:http";
import { type AddressInfo, createServer, type Server } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { SILENT } from "../../../src/core/logger.js";
import type { ForwardOutcome, Owner, Owners } from "../../../src/core/owners.js";
import { createForwarder } from "../../../src/downstream/forward-to-owner.js";
import { PeerConnections } from "../../../src/features/cluster/peer-connections.js";
import { PeerKey } from "../../../src/features/cluster/peer-key.js";
import { admitPeers } from "../../../src/features/cluster/peer-listener.js";
import { send } from "../../support/http-host.js";
import { until } from "../../support/until.js";

const REFUSED = "http://127.0.0.1:1";
/** TCP knows no broadcast: the kernel refuses at once, and not as a process that has ended. */
const NO_ROUTE = "http://255.255.255.255:9";

const ANN = { id: "ann", groups: [], claims: {} };

const ownerAt = (url: string, isLeaving = false, agent = new Agent({ keepAlive: true })): Owner => ({
  name: "owner",
  address: { url: new URL(url), agent },
  admission: (_method, _path, hops, { id }) => ["cardea-peer", `${id} ${hops}`],
  isLeaving,
});

async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    await new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A listener for hosts whose sessions all belong to `owner`; what it was asked for and what became of it. */
async function front(owner: Owner, after: "nowhere" | "here" = "nowhere", connectMs = 60_000) {
  const gone: unknown[] = [];
  const outcomes: ForwardOutcome[] = [];
  const owners: Owners = {
    isForeign: () => true,
    locate(_id, _kind, _hops, before) {
      gone.push(before?.name);
      return before === undefined ? owner : after;
    },
    onForwarded: (outcome) => outcomes.push(outcome),
    close() {},
  };
  const forwarder = createForwarder(owners, SILENT, { connectMs });
  onTestFinished(() => forwarder.close());
  const serve: RequestListener = (request, response) => {
    const forwarding = forwarder.forwardBySession({ request, response, principal: ANN });
    const here = (outcome: "done" | "here") => outcome === "here" && response.end("served here");
    forwarding?.then(here, () => response.destroy());
    if (forwarding === undefined) here("here");
  };
  const url = await listening(createHttp(serve));
  const ask = async (method: string) => {
    const body = method === "POST" ? { body: "{}" } : {};
    const answer = await send(url, { method, headers: { "mcp-session-id": "abcde-1" }, ...body });
    return [answer.status, answer.text, answer.headers["retry-after"]] as const;
  };
  return { ask, gone, outcomes, forwarder, url };
}

test("an owner that refuses connections is looked up again, and no part of the request is lost", async () => {
  const { ask, gone, outcomes } = await front(ownerAt(REFUSED), "here");
  expect((await ask("POST"))[1]).toBe("served here");
  expect([gone, outcomes]).toEqual([[undefined, "owner"], ["absent"]]);
});

test("an owner whose address another replica has by now is gone, and gets no part of the request", async () => {
  const key = new PeerKey("the key of the cluster");
  const admitted: unknown[] = [];
  const admit = admitPeers({
    ...{ id: "other", key, logger: SILENT, isOwnAddress: () => true },
    page: () => ({ id: "other", version: "1", isLeaving: false, startedAt: 0, keys: "", now: 0 }),
    answers: { serve: (_request, response) => response.end("{}") },
  });
  const other = createHttp((request, response) => void admitted.push(admit(request, response)));
  const url = await listening(other);
  const connections = new PeerConnections({ id: "front", key });
  onTestFinished(() => connections.close());
  const { ask, gone, outcomes } = await front(ownerAt(url, false, connections.agentOf(url, "owner")), "here");
  expect((await ask("POST"))[1]).toBe("served here");
  expect([gone, outcomes, admitted]).toEqual([[undefined, "owner"], ["absent"], [undefined]]);
});

test("what the listener of an owner refuses is an error with a time to retry, and its words do not reach the host", async () => {
  const refusing = createHttp((_request, response) => {
    response.writeHead(403, { "content-type": "application/json", "cardea-peer": "2.refused.clock" });
    response.end('{"error":"this listener is for replicas"}');
  });
  const { ask, outcomes } = await front(ownerAt(await listening(refusing)), "here");
  for (const method of ["POST", "GET"]) {
    const [status, text, retryAfter] = await ask(method);
    expect([status, text, retryAfter]).toEqual([503, expect.stringContaining("cannot be reached"), "1"]);
  }
  expect(outcomes).toEqual(["unreachable", "unreachable"]);
});

test("a 403 of an owner to a host is the answer of the host", async () => {
  const owner = createHttp((_request, response) => response.writeHead(403).end("not for you"));
  const { ask } = await front(ownerAt(await listening(owner)), "here");
  expect((await ask("POST")).slice(0, 2)).toEqual([403, "not for you"]);
});

test("a session whose owner is permanently gone is 404", async () => {
  const { ask } = await front(ownerAt(REFUSED));
  const [status, text] = await ask("POST");
  expect([status, text]).toEqual([404, expect.stringContaining("no such session")]);
});

test("an unreachable owner does not count as gone: the host may retry", async () => {
  const { ask, gone, outcomes } = await front(ownerAt(NO_ROUTE), "here");
  const [status, text, retryAfter] = await ask("POST");
  expect([status, text, retryAfter]).toEqual([503, expect.stringContaining("cannot be reached"), "1"]);
  expect([gone, outcomes]).toEqual([[undefined], ["unreachable"]]);
});

test("an owner that accepts the connection without proving itself in time is unreachable", async () => {
  const seen: string[] = [];
  const silent = createServer((socket) => {
    socket.on("error", () => {}).on("data", (chunk) => void seen.push(String(chunk)));
  });
  const url = await listening(silent);
  const connections = new PeerConnections({ id: "aaaaa", key: new PeerKey("secret") });
  onTestFinished(() => connections.close());
  const { ask, outcomes } = await front(ownerAt(url, false, connections.agentOf(url)), "here", 50);
  expect((await ask("POST"))[0]).toBe(503);
  expect(outcomes).toEqual(["unreachable"]);
  expect(seen.join()).not.toMatch(/abcde-1|\{\}/);
});

test("the owner gets the headers that MCP defines and the principal, and no other header of the host", async () => {
  const heads: (readonly string[])[] = [];
  const owner = createHttp((request, response) => {
    heads.push(request.rawHeaders);
    response.end("the answer");
  });
  const { url } = await front(ownerAt(await listening(owner)));
  const sent = {
    "mcp-session-id": "abcde-1",
    "mcp-protocol-version": "2025-11-25",
    "mcp-param-region": "eu",
    "last-event-id": "7",
    accept: "application/json",
    traceparent: "00-1-2-01",
    authorization: "Bearer s3cret",
    "x-api-key": "s3cret",
    cookie: "session=s3cret",
    "proxy-authorization": "Basic s3cret",
    forwarded: "for=s3cret",
    "x-forwarded-for": "s3cret",
    "x-amzn-oidc-data": "s3cret",
    "cf-access-jwt-assertion": "s3cret",
    origin: "https://s3cret",
    "cardea-peer": "root 0",
  };
  await send(url, { method: "GET", headers: sent });
  const names = heads[0]?.filter((_, at) => at % 2 === 0).map((name) => name.toLowerCase());
  expect(names?.sort()).toEqual(
    ["accept", "cardea-peer", "connection", "host", "last-event-id", "mcp-param-region"].concat([
      ...["mcp-protocol-version", "mcp-session-id", "traceparent"],
    ]),
  );
  expect(heads.join()).not.toContain("s3cret");
  expect(heads[0]).toContain("ann 1");
});

test("a POST to an owner that ends without a response has an unknown outcome; a stream may be reopened", async () => {
  const url = await listening(createHttp((request) => request.socket.destroy()));
  const { ask, outcomes } = await front(ownerAt(url), "here");
  const [status, text] = await ask("POST");
  expect([status, text]).toEqual([502, expect.stringContaining("outcome_unknown")]);
  expect((await ask("GET"))[0]).toBe(503);
  expect((await ask("DELETE"))[0]).toBe(503);
  expect(outcomes).toEqual(["lost", "lost", "lost"]);
});

test("what a process kept is asked for again when the process ends in the middle, and is answered here when it is gone", async () => {
  const outcomes: ForwardOutcome[] = [];
  const ending = await listening(createHttp((request) => request.socket.destroy()));
  const owners: Owners = {
    isForeign: () => true,
    locate: (_id, _kind, _hops, gone) => {
      if (gone !== undefined) return "here";
      return ownerAt(outcomes.length === 0 ? ending : REFUSED);
    },
    onForwarded: (outcome) => outcomes.push(outcome),
    close() {},
  };
  const forwarder = createForwarder(owners, SILENT, { connectMs: 60_000, issuedIn: () => "abcde-1" });
  onTestFinished(() => forwarder.close());
  const read = { jsonrpc: "2.0", id: 1, method: "resources/read", params: {} } as const;
  const url = await listening(
    createHttp((request, response) => {
      const forwarding = forwarder.forwardByMessage({ request, response, principal: ANN }, read, "{}");
      void forwarding?.then((outcome) => outcome === "here" && response.end("served here"));
    }),
  );
  const answer = await send(url, { method: "POST", headers: {}, body: "{}" });
  expect([answer.text, outcomes]).toEqual(["served here", ["lost", "absent"]]);
});

test("a connection that an owner closes during its stop has not taken the request, which is retried on another one", async () => {
  const bodies: string[] = [];
  let heads = 0;
  const owner = createHttp();
  owner.on("checkContinue", (request, response) => {
    heads += 1;
    if (heads === 2) {
      request.socket.destroy();
      return;
    }
    response.writeContinue();
    let body = "";
    request
      .on("data", (chunk) => (body += chunk))
      .once("end", () => {
        bodies.push(body);
        response.end("the answer");
      });
  });
  const { ask, gone, outcomes } = await front(ownerAt(await listening(owner), true));
  expect((await ask("POST"))[1]).toBe("the answer");
  expect((await ask("POST"))[1]).toBe("the answer");
  expect([heads, bodies]).toEqual([3, ["{}", "{}"]]);
  expect(outcomes).toEqual(["answered", "closed", "answered"]);
  expect(gone).toEqual([undefined, undefined, undefined]);
});

test("an owner that stops after it has taken a request without responding leaves its outcome unknown", async () => {
  const owner = createHttp();
  owner.on("checkContinue", (request, response) => {
    response.writeContinue();
    request.once("end", () => request.socket.destroy()).resume();
  });
  const { ask, outcomes } = await front(ownerAt(await listening(owner), true), "here");
  expect((await ask("POST"))[1]).toContain("outcome_unknown");
  expect(outcomes).toEqual(["lost"]);
});

test("an owner that closes every connection before it takes the request may be retried later", async () => {
  const owner = createHttp();
  owner.on("checkContinue", (request) => void request.socket.destroy());
  const { ask, gone } = await front(ownerAt(await listening(owner), true), "here");
  const [status, text, retryAfter] = await ask("POST");
  expect([status, text, retryAfter]).toEqual([503, expect.stringContaining("cannot be reached"), "1"]);
  expect(new Set(gone)).toEqual(new Set([undefined]));
});

test("streams of hosts end completely when their process stops; running calls continue, and no further stream is opened", async () => {
  const calls: (() => void)[] = [];
  const owner = createHttp((request, response) => {
    if (request.method === "GET")
      response.writeHead(200, { "content-type": "text/event-stream" }).write("data: 1\n\n");
    else calls.push(() => response.end("the answer"));
  });
  const { ask, forwarder, url } = await front(ownerAt(await listening(owner)));
  const call = ask("POST");
  await until("the call to be there", () => calls.length === 1);
  const stream = (await fetch(url, { headers: { "mcp-session-id": "abcde-1" } })).body?.getReader();
  expect(Buffer.from((await stream?.read())?.value ?? []).toString()).toBe("data: 1\n\n");
  forwarder.endStreams();
  expect(await stream?.read()).toMatchObject({ done: true });
  expect((await ask("GET"))[0]).toBe(503);
  calls[0]?.();
  expect((await call)[1]).toBe("the answer");
});

test("a response that breaks off in the middle breaks off for the host too", async () => {
  const half = createHttp((_, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write("data: 1\n\n", () => response.destroy());
  });
  const { ask } = await front(ownerAt(await listening(half)));
  await expect(ask("GET")).rejects.toThrow();
});
