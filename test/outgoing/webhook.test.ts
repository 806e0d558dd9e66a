/** Messages that are signed as Standard Webhooks say, and the outcomes of attempts. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { Webhook, webhookHeaders } from "../../src/outgoing/webhook.js";

/** The vector of the specification. */
const VECTOR = {
  secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
  message: { id: "msg_p5jXN8AQM9LWM0D4loKWxJek", body: '{"test": 2432232314}' },
  timestamp: 1_614_265_330,
};

test("the signature is the one of the specification's example", () => {
  expect(webhookHeaders(VECTOR.message, VECTOR.secret, VECTOR.timestamp)).toEqual({
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": "1614265330",
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
  });
});

test("without a secret a message has its id and its time, and no signature", () => {
  expect(webhookHeaders(VECTOR.message, undefined, VECTOR.timestamp)).toEqual({
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": "1614265330",
  });
});

/** A receiver, and a webhook towards it. */
async function receiver(answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const bodies: string[] = [];
  const server = createServer(async (request, response) => {
    bodies.push(await text(request));
    answer(request, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook?key=a`;
  const webhook = new Webhook({ url, secret: VECTOR.secret }, () => VECTOR.timestamp * 1_000);
  onTestFinished(async () => {
    await webhook.close();
    server.closeAllConnections();
    server.close();
  });
  return { webhook, bodies };
}

test("a message is posted as JSON under its signature, and is accepted by a status from 200 to 299", async () => {
  let headers: IncomingMessage["headers"] = {};
  const { webhook, bodies } = await receiver((request, response) => {
    ({ headers } = request);
    response.writeHead(204).end();
  });
  expect(await webhook.post(VECTOR.message)).toEqual({ kind: "accepted" });
  expect(bodies).toEqual([VECTOR.message.body]);
  expect(headers).toMatchObject({
    "content-type": "application/json",
    ...webhookHeaders(VECTOR.message, VECTOR.secret, VECTOR.timestamp),
  });
});

test("another status refuses it, with the time that the receiver asks for", async () => {
  const { webhook } = await receiver((_, response) =>
    response.writeHead(503, { "retry-after": "7" }).end("busy"),
  );
  expect(await webhook.post(VECTOR.message)).toEqual({
    kind: "refused",
    reason: "it answered with 503",
    waitMs: 7_000,
  });
});

test("a redirect is not followed", async () => {
  const { webhook, bodies } = await receiver((_, response) =>
    response.writeHead(307, { location: "/elsewhere" }).end(),
  );
  expect(await webhook.post(VECTOR.message)).toEqual({ kind: "refused", reason: "it answered with 307" });
  expect(bodies).toHaveLength(1);
});

test("a connection that ends is a reason, and the next message has a new one", async () => {
  let answers = 0;
  const { webhook } = await receiver((request, response) => {
    answers += 1;
    if (answers === 1) request.socket.destroy();
    else response.writeHead(200).end();
  });
  expect(await webhook.post(VECTOR.message)).toMatchObject({ kind: "lost" });
  expect(await webhook.post(VECTOR.message)).toEqual({ kind: "accepted" });
});
