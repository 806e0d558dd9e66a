/** Every JSON number arrives with the digits it was sent with, on every way through the gateway. */
import { PassThrough } from "node:stream";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Gateway } from "../../src/gateway/gateway.js";
import fc from "../support/fast-check.js";
import { ofServers } from "../support/features.js";
import { gatewayOf } from "../support/gateway.js";
import { type Era, Host, type Json, type Wire } from "../support/host/host.mjs";
import { httpWire, pipeWire } from "../support/host/wires.mjs";
import { numberText } from "../support/number-texts.js";
import { numbersServer } from "../support/numbers/server.mjs";
import { readTagged, writeTagged } from "../support/numbers/tagged.mjs";
import { pairwise } from "../support/sample.js";
import { serveHttp } from "../support/server/http.mjs";

const STDIO = fileURLToPath(new URL("../support/numbers/stdio.mjs", import.meta.url));
const LISTED = ["9007199254740993", "1e400", "1.0", "-0.0", "1E5"];
const TAGGED = LISTED.map((number) => `#${number}`);

const SERVERS = ["legacy-stdio", "legacy-http", "modern-stdio", "modern-http"] as const;
const HOSTS = ["legacy-stdio", "legacy-http", "modern-stdio", "modern-http"] as const;

/** Messages are read and written as tagged JSON, so that JavaScript changes none of their numbers. */
const TAGGED_JSON = { parse: readTagged, stringify: writeTagged };

let gateway: Gateway;
let url: string;
const ends: (() => unknown)[] = [];

beforeAll(async () => {
  const entries = await Promise.all(
    SERVERS.map(async (name): Promise<readonly [string, object]> => {
      const [era, transport] = name.split("-") as [Era, string];
      const own = { protocol: era, prefix: name };
      if (transport === "stdio")
        return [name, { ...own, command: process.execPath, args: [STDIO, era, ...LISTED] }];
      const server = await serveHttp(numbersServer(era, LISTED), { sessions: false, codec: TAGGED_JSON });
      ends.push(server.stop);
      return [name, { ...own, type: "http", url: server.url }];
    }),
  );
  const config = {
    listen: { http: { port: 0 }, admin: { port: 0 } },
    mcpServers: Object.fromEntries(entries),
  };
  gateway = await gatewayOf(config);
  ({ url } = await gateway.start());
  await gateway.lists("tools");
});

afterAll(async () => {
  await gateway.stop({ immediate: true });
  for (const end of ends) await end();
});

async function enter(kind: (typeof HOSTS)[number]) {
  const [era, door] = kind.split("-") as [Era, string];
  const host = new Host(door === "http" ? httpWire(url, {}, TAGGED_JSON) : enterByPipe(), era, {
    capabilities: { elicitation: { form: {} } },
    logLevel: "debug",
    idOf: (number) => `#${number}`,
  });
  await host.open();
  if (era === "legacy") await host.request("logging/setLevel", { level: "debug" });
  return (method: string, params: Json, { id, answer }: { id?: unknown; answer?: Json } = {}) =>
    host.converse(method, params, () => answer, { ...(id !== undefined && { id }) });
}

function enterByPipe(): Wire {
  const [input, output] = [new PassThrough(), new PassThrough()];
  ends.push(() => input.end());
  void gateway.stdio(input, output);
  return pipeWire(input, output, TAGGED_JSON);
}

const resultOf = ({ response }: { readonly response: Json }): Json => response.result as Json;
const textOf = (content: unknown): unknown =>
  JSON.parse((content as readonly { text: string }[])[0]?.text ?? "");

/** Tagged numbers, and arguments that have them wherever a number may stand. */
const numbers = fc.array(numberText(), { minLength: 1, maxLength: 4 }).map((all) => {
  const tagged = all.map((text) => `#${text}`);
  return {
    tagged,
    args: { n: tagged[0], all: tagged, deep: { "1.0": [{ x: tagged.at(-1) }], text: "1.0, 1e5" } },
  };
});
const property = (check: (given: { tagged: string[]; args: Json }) => Promise<void>) =>
  fc.assert(fc.asyncProperty(numbers, check), { numRuns: 8 });

/** Every pair of an era or a transport of the host and one of the server. */
const DRAWN = pairwise(
  "numbers",
  HOSTS.flatMap((host) => SERVERS.map((server) => ({ host, server }))),
  ({ host, server }) => [...host.split("-"), ...server.split("-")],
);
const isDrawn = (host: string, server: string): boolean =>
  DRAWN.some((drawn) => drawn.host === host && drawn.server === server);

describe.each(HOSTS.filter((host) => DRAWN.some((drawn) => drawn.host === host)))(
  "through a %s host",
  (kind) => {
    let send: Awaited<ReturnType<typeof enter>>;
    beforeAll(async () => {
      send = await enter(kind);
    });

    describe.each(SERVERS.filter((server) => isDrawn(kind, server)))("and a %s server", (server) => {
      const tool = (name: string): string => `${server}__${name}`;

      test("arguments, results and vendor _meta keep their numbers", () =>
        property(async ({ tagged, args }) => {
          const params = { name: tool("echo"), arguments: args, _meta: { "vendor/n": tagged } };
          const result = resultOf(await send("tools/call", params));
          expect(textOf(result.content)).toEqual(args);
          expect(result.structuredContent).toEqual(args);
          expect((result._meta as Json)["vendor/sent"]).toEqual(tagged);
          expect(result.content).toMatchObject([{ _meta: { "vendor/n": args } }, { size: args.n }]);
        }));

      test("errors keep the numbers of their data", () =>
        property(async ({ args }) => {
          const { response } = await send("tools/call", { name: tool("fail"), arguments: args });
          expect(response.error).toEqual({ code: "#-31000.0", message: JSON.stringify(args), data: args });
        }));

      test("notifications keep their numbers", () =>
        property(async ({ args }) => {
          const progress = ["#-0.50", "#1.0", "#9007199254740993", "#9007199254740993.5", "#1e400"];
          const params = {
            name: tool("tell"),
            arguments: { ...args, progress },
            _meta: { progressToken: "t" },
          };
          const { received } = await send("tools/call", params);
          const heardAs = (method: string) =>
            received.filter((message) => message.method === method).map((message) => message.params as Json);
          // A line on a pipe that several clients share names no call, and may not be attributable.
          if (server !== "modern-stdio") {
            expect(heardAs("notifications/message")).toEqual([
              { level: "error", data: { ...args, progress } },
            ]);
          }
          expect(heardAs("notifications/progress")).toEqual(
            progress.map((each) => ({ progressToken: "t", progress: each, total: args.n })),
          );
        }));

      test("progress that does not increase is dropped", async () => {
        const sent = [
          "#1.0",
          "#1",
          "#0.5",
          "#9007199254740993",
          "#9007199254740992",
          "#1e400",
          "#1E400",
          "#1e399",
        ];
        const params = {
          name: tool("tell"),
          arguments: { n: "#1", progress: [...sent, "#1e401"] },
          _meta: { progressToken: "#1.50" },
        };
        const { received } = await send("tools/call", params);
        const told = received.filter(({ method }) => method === "notifications/progress");
        expect(told.map((message) => (message.params as Json).progress)).toEqual([
          "#1.0",
          "#9007199254740993",
          "#1e400",
          "#1e401",
        ]);
        expect(told).toMatchObject([{ params: { progressToken: "#1.50" } }, {}, {}, {}]);
      });

      test("questions and their answers keep their numbers", () =>
        property(async ({ tagged, args }) => {
          const answer = { action: "accept", content: { n: args.n }, _meta: { "vendor/n": tagged } };
          const { response, received } = await send(
            "tools/call",
            { name: tool("ask"), arguments: args },
            { answer },
          );
          expect(textOf((response.result as Json).content)).toEqual({ answer, requestState: "waiting" });
          const asked = JSON.stringify(received);
          expect(asked).toContain(JSON.stringify({ type: "number", minimum: args.n, default: args.n }));
          expect(asked).toContain(JSON.stringify({ "vendor/n": tagged }));
        }));

      test("request ids and progress tokens come back as they were written", async () => {
        for (const id of [
          "#9007199254740993",
          "#-123456789012345678901234567890",
          "#1e400",
          "#7.0",
          "#1E2",
          "#-0",
        ]) {
          const args = { n: "#1.0", progress: ["#1"] };
          const params = { name: tool("tell"), arguments: args, _meta: { progressToken: id } };
          const { response, received } = await send("tools/call", params, { id });
          expect(response.id).toBe(id);
          const told = received.filter(({ method }) => method === "notifications/progress");
          expect(told).toMatchObject([{ params: { progressToken: id } }]);
        }
      });
    });

    test("lists of all servers keep their numbers", async () => {
      const { tools } = resultOf(await send("tools/list", {})) as { tools: readonly Json[] };
      for (const server of SERVERS) {
        expect(tools.find(({ name }) => name === `${server}__echo`)).toMatchObject({
          inputSchema: { properties: { n: { minimum: TAGGED[0], default: TAGGED[1], "x-n": TAGGED } } },
          annotations: { vendor: TAGGED },
          _meta: { "vendor/n": TAGGED },
        });
      }
      const { resources } = resultOf(await send("resources/list", {})) as { resources: readonly Json[] };
      expect(ofServers(resources).map(({ size }) => size)).toEqual(SERVERS.map(() => TAGGED[0]));
      const { prompts } = resultOf(await send("prompts/list", {})) as { prompts: readonly Json[] };
      expect(prompts.map(({ _meta }) => _meta)).toEqual(SERVERS.map(() => ({ "vendor/n": TAGGED })));
    });

    test.each(SERVERS.filter((server) => isDrawn(kind, server)))(
      "reads, prompts and completions of a %s server keep their numbers",
      (server) =>
        property(async ({ tagged }) => {
          const _meta = { "vendor/n": tagged };
          const read = resultOf(await send("resources/read", { uri: `${server}+n://1`, _meta }));
          expect(textOf(read.contents)).toEqual(tagged);
          expect(read.contents).toMatchObject([{ _meta: { "vendor/n": tagged } }]);
          expect(read._meta).toMatchObject(_meta);
          const prompt = resultOf(await send("prompts/get", { name: `${server}__p`, _meta }));
          expect(prompt.messages).toMatchObject([{ content: { text: JSON.stringify(tagged), _meta } }]);
          const ref = { type: "ref/prompt", name: `${server}__p` };
          const argument = { name: "a", value: "" };
          const completed = resultOf(await send("completion/complete", { ref, argument, _meta }));
          expect(completed.completion).toEqual({ values: [JSON.stringify(tagged)], total: tagged[0] });
        }),
    );
  },
);
