/** Calls of methods without a target: their routes, and that each of them is evaluated. */
import "../admin/needed.js";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/wire/json.js";
import { HOSTS, openGateway, type Server } from "../../support/open-gateway.js";
import { sample } from "../../support/sample.js";

const tool = (name: string) => ({ name, inputSchema: { type: "object" } });
const declares = (...names: string[]) => ({
  capabilities: { experimental: Object.fromEntries(names.map((name) => [name, {}])) },
});
/** Two servers that have something, and of which the first has a vendor's methods. */
const DB: Server = {
  tools: [tool("drop"), tool("query")],
  prompts: ["plan"],
  resources: ["file:///pub/x", "file:///etc/shadow"],
  ...declares("ops"),
};
const FILES: Server = { tools: [tool("read")], resources: ["file:///pub/y"] };

const rule = (effect: string, more: object) => ({ name: "the-rule", effect, ...more });
const facts = (error: unknown): unknown => ((error as JsonObject | undefined)?.data as JsonObject)?.cardea;

describe.each(sample("hosts of vendor methods", HOSTS, 1))(
  "of a $era host over $door, a method of a vendor",
  (kind) => {
    /** The response, and what reached servers. */
    async function calls(
      policy: object,
      method: string,
      params: JsonObject,
      servers = { db: DB, files: FILES },
    ) {
      const running = await openGateway(servers, policy);
      const host = await running.host(kind);
      const response = await host.send(1, method, params);
      const reached = running.received.filter((it) => it.method === method);
      return { response, error: response.error as JsonObject | undefined, reached, running };
    }
    const rules = (...all: object[]) => ({ policy: { rules: all } });

    test("goes to the server that declares it, with the server's own names", async () => {
      const { reached } = await calls({}, "ops/run", {
        name: "db__query",
        uri: "db+file:///pub/x",
        deep: { a: 1 },
      });
      expect(reached).toMatchObject([
        { server: "db", params: { name: "query", uri: "file:///pub/x", deep: { a: 1 } } },
      ]);
    });

    test.each(
      sample<[string, object]>(
        "rules about methods",
        [
          ["its server", { servers: ["db"] }],
          ["its name", { methods: ["ops/run"] }],
          ["a glob over its name", { methods: ["ops/*"] }],
          ["its principal", { principals: ["ann"] }],
          ["its parameters", { methods: ["ops/*"], when: "args.env == 'prod'" }],
          ["everything", {}],
        ],
        3,
      ),
    )("is denied by a rule about %s", async (_, about) => {
      const message = "not here";
      const { error, reached } = await calls(rules(rule("deny", { ...about, message })), "ops/run", {
        env: "prod",
      });
      expect(error).toMatchObject({ code: -31403, message });
      expect(facts(error)).toEqual({ code: "denied", rule: "the-rule", server: "db", retryable: false });
      expect(reached).toEqual([]);
    });

    test.each(
      sample<[string, object]>(
        "rules about other methods",
        [
          ["tools", { tools: ["*"] }],
          ["another server", { servers: ["files"] }],
          ["other methods", { methods: ["opsx/*", "ops/runs"] }],
          ["somebody else", { principals: ["bob"] }],
        ],
        2,
      ),
    )("is not denied by a rule about %s", async (_, about) => {
      const { reached } = await calls(rules(rule("deny", about)), "ops/run", {});
      expect(reached).toHaveLength(1);
    });

    test("is denied by default, unless a rule allows it", async () => {
      const denied = await calls({ policy: { default: "deny", rules: [] } }, "ops/run", {});
      expect(facts(denied.error)).toMatchObject({ code: "denied", server: "db" });
      expect(denied.reached).toEqual([]);
      const policy = { default: "deny", rules: [rule("allow", { methods: ["ops/*"] })] };
      expect((await calls({ policy }, "ops/run", {})).reached).toHaveLength(1);
      // What it names needs to be allowed as well.
      expect((await calls({ policy }, "ops/run", { name: "db__query" })).reached).toEqual([]);
      const both = { ...policy, rules: [...policy.rules, { tools: ["db__query"], effect: "allow" }] };
      expect((await calls({ policy: both }, "ops/run", { name: "db__query" })).reached).toHaveLength(1);
      for (const key of ["name", "NAME", "nam\uff45", "tool", "tool_name", "targets"]) {
        expect((await calls({ policy }, "ops/run", { [key]: ["query"] })).reached).toEqual([]);
      }
      // A word that happens to be the name of something is not what the call is about.
      expect((await calls({ policy }, "ops/run", { note: "query" })).reached).toHaveLength(1);
    });

    test.each(
      sample<[string, JsonObject]>(
        "names of denied things",
        [
          ["its name", { name: "db__drop" }],
          ["its name there", { name: "drop" }],
          ["its name beside a URI", { name: "db__drop", uri: "db+file:///pub/x" }],
          ["a URI", { uri: "db+file:///etc/shadow" }],
          ["a URI beside a name", { name: "db__query", uri: "db+file:///etc/shadow" }],
          ["a URI of the server's own", { uri: "file:///etc/shadow" }],
          ["a URI in a reference", { ref: { type: "ref/resource", uri: "db+file:///etc/shadow" } }],
          ["a name in a reference", { ref: { type: "ref/prompt", name: "db__plan" } }],
          ["a name in a reference of no type", { ref: { name: "drop" } }],
          ["some other member", { tool: "drop" }],
          ["a list", { resources: ["file:///pub/x", "file:///etc/shadow"] }],
          ["an object", { target: { id: "drop" } }],
          ["deep inside", { calls: [{ with: { name: "drop" } }] }],
          ["a URI deep inside", { calls: [{ with: { uris: ["file:///etc/shadow"] } }] }],
          ["its name among arguments", { arguments: { tool: "drop" } }],
        ],
        6,
      ),
    )("is denied where what it names is denied: by %s", async (_, params) => {
      const denied = rule("deny", { tools: ["*__drop"], prompts: ["*"], resources: ["*/etc/*"] });
      const { error, reached } = await calls(rules(denied), "ops/run", params);
      expect(facts(error)).toMatchObject({ code: "denied", rule: "the-rule", server: "db" });
      expect(reached).toEqual([]);
    });

    test.each(
      sample<[string, JsonObject]>(
        "denied arguments",
        [
          ["arguments", { name: "db__query", arguments: { env: "prod" } }],
          ["another member", { name: "db__query", input: { env: "prod" } }],
          ["the parameters themselves", { name: "db__query", env: "prod" }],
          ["deep inside", { name: "db__query", steps: [{ with: { env: "prod" } }] }],
        ],
        2,
      ),
    )("is denied where the arguments of the tool it names are denied: in %s", async (_, params) => {
      const denied = rule("deny", { tools: ["db__query"], when: "args.env == 'prod'" });
      expect((await calls(rules(denied), "ops/run", params)).reached).toEqual([]);
      const test = JSON.parse(JSON.stringify(params).replaceAll("prod", "test")) as JsonObject;
      expect((await calls(rules(denied), "ops/run", test)).reached).toHaveLength(1);
    });

    test("that names targets of two servers is refused, with their names", async () => {
      const { error, reached } = await calls({}, "other/run", {
        name: "db__query",
        uri: "files+file:///pub/y",
      });
      expect(error).toMatchObject({
        code: -32602,
        message:
          'other/run names targets of several servers ("name" of db, "uri" of files); a call goes to one',
      });
      expect(reached).toEqual([]);
    });

    test("that is one server's and names something of another is refused", async () => {
      const { error, reached } = await calls({}, "ops/run", { name: "files__read" });
      expect(error).toMatchObject({
        code: -32602,
        message: expect.stringMatching(/^ops\/run is not a method of files/),
      });
      expect(reached).toEqual([]);
    });

    test("that several servers declare is refused, with the names of the visible ones", async () => {
      const servers = { db: DB, files: { ...FILES, ...declares("ops") } };
      const { error, reached } = await calls({}, "ops/run", {}, servers);
      expect(error).toMatchObject({
        code: -32601,
        message:
          "several servers could be meant by method ops/run: db, files; ask one of them alone, at its own path",
      });
      expect(reached).toEqual([]);
      const hidden = rules(rule("hide", { servers: ["files"] }));
      expect((await calls(hidden, "ops/run", {}, servers)).reached).toMatchObject([{ server: "db" }]);
      const gone = rules(rule("hide", { methods: ["ops/*"], servers: ["files"] }));
      expect((await calls(gone, "ops/run", {}, servers)).reached).toMatchObject([{ server: "db" }]);
      // A denied server still counts: choosing the other would be a guess.
      const denied = rules(rule("deny", { servers: ["files"] }));
      expect((await calls(denied, "ops/run", {}, servers)).reached).toEqual([]);
    });

    test.each<[string, object]>([
      ["its server", { servers: ["db"] }],
      ["it", { methods: ["ops/*"] }],
    ])("is unknown where a rule hides %s, and counted for operators", async (_, about) => {
      const { error, reached, running } = await calls(rules(rule("hide", about)), "ops/run", {
        name: "db__query",
      });
      const host = await running.host(kind);
      const unknown = (await host.send(1, "opz/run", { name: "dz__query" })).error;
      expect(JSON.stringify(error)).toBe(
        JSON.stringify(unknown).replaceAll("opz", "ops").replaceAll("dz", "db"),
      );
      expect(reached).toEqual([]);
      const rows = (await (await fetch(`${running.adminUrl}/api/v1/decisions`)).json()) as {
        decisions: unknown[];
      };
      expect(JSON.stringify(rows)).toContain('"effect":"hide"');
    });

    test("is refused where it names a hidden target, with the error for an unknown one", async () => {
      const hidden = rules(rule("hide", { tools: ["db__drop"] }));
      for (const params of [{ name: "drop" }, { tool: "drop" }, { name: "db__query", more: ["drop"] }]) {
        const { error, reached } = await calls(hidden, "ops/run", params);
        expect(error).toMatchObject({ code: -32602, message: "unknown tool: drop" });
        expect(reached).toEqual([]);
      }
    });

    test("is refused where it names what the config leaves out, by URI", async () => {
      const entry = { resources: { deny: ["file:///etc/*"] } };
      for (const uri of ["file:///etc/shadow", "file:///etc/other", "db+file:///etc/other"]) {
        const { error, reached } = await calls(
          {},
          "ops/run",
          { uri },
          { db: { ...DB, entry }, files: FILES },
        );
        expect(error).toMatchObject({ code: -32602, message: `unknown resource: ${uri}` });
        expect(reached).toEqual([]);
      }
    });

    test("is denied where it needs an approval that it cannot carry", async () => {
      const { error, reached } = await calls(rules(rule("approve", { servers: ["db"] })), "ops/run", {});
      expect(error).toMatchObject({ message: '"ops/run" needs an approval, which ops/run cannot ask for' });
      expect(reached).toEqual([]);
    });

    test("is redacted as calls are: its parameters, and what it answers", async () => {
      const taking = {
        arguments: { paths: ["debug"], patterns: ["sk-\\w+"] },
        results: { patterns: ["AKIA\\w+"] },
      };
      const answer = ({ method }: { method: string }) =>
        method === "ops/run" ? { said: "AKIA1234" } : undefined;
      const servers = { db: { ...DB, answer }, files: FILES };
      const { response, reached } = await calls(
        rules(rule("redact", { methods: ["ops/*"], redact: taking })),
        "ops/run",
        { debug: "all", note: "key sk-123", deep: [{ k: "sk-9" }], name: "db__query" },
        servers,
      );
      expect(reached[0]?.params).toMatchObject({
        note: "key [redacted]",
        deep: [{ k: "[redacted]" }],
        name: "query",
      });
      expect(JSON.stringify(reached[0]?.params)).not.toContain('"all"');
      expect(response.result).toMatchObject({ said: "[redacted]" });
    });

    test.each(
      sample<[string, object, JsonObject]>(
        "limits about methods",
        [
          ["methods", { methods: ["ops/*"] }, {}],
          ["its server", { servers: ["db"], per: "server" }, {}],
          ["its principal", { per: "principal" }, {}],
          ["the tool it names", { tools: ["db__query"] }, { name: "db__query" }],
          ["both at once", {}, { name: "db__query" }],
        ],
        3,
      ),
    )("is limited by limits about %s, and pays once", async (_, about, params) => {
      const running = await openGateway(
        { db: DB, files: FILES },
        { limits: [{ name: "two", rate: "2/h", ...about }] },
      );
      const host = await running.host(kind);
      const codes = [];
      for (let at = 0; at < 3; at += 1) codes.push(facts((await host.send(at, "ops/run", params)).error));
      expect(codes).toMatchObject([
        undefined,
        undefined,
        { code: "rate_limited", rule: "two", server: "db" },
      ]);
      expect(running.received.filter(({ method }) => method === "ops/run")).toHaveLength(2);
    });

    test.each(["Tools/call", "tools/Call", "TOOLS/CALL", "Resources/Read", "skills/List"])(
      "%s is no method of a vendor, whatever a server declares",
      async (method) => {
        const servers = {
          db: { ...DB, ...declares("Tools", "tools", "TOOLS", "Resources", "skills") },
          files: FILES,
        };
        const { error, reached } = await calls({}, method, { name: "db__drop" }, servers);
        expect(error).toMatchObject({ code: -32601 });
        expect(reached).toEqual([]);
      },
    );

    test("with texts without number is refused", async () => {
      const many = Object.fromEntries(Array.from({ length: 1_001 }, (_, at) => [`k${at}`, `x${at}`]));
      const { error, reached } = await calls({}, "ops/run", { ...many, tool: "drop" });
      expect(error).toMatchObject({ code: -32602, message: expect.stringContaining("more than 1000 texts") });
      expect(reached).toEqual([]);
    });
  },
);

describe.each(sample("hosts of extension lists", HOSTS, 1))(
  "of a $era host over $door, a list of an extension",
  (kind) => {
    const skills = {
      ...FILES,
      capabilities: { extensions: { "io.modelcontextprotocol/skills": {} } },
      resources: ["file:///pub/y"],
      answer: ({ method }: { method: string }) =>
        method === "skills/list" ? { skills: [{ uri: "file:///pub/y", name: "y" }] } : undefined,
    };
    async function listed(policy: object): Promise<{ asked: readonly string[]; answer: JsonObject }> {
      const running = await openGateway({ a: skills, b: skills }, policy);
      const host = await running.host(kind);
      const answer = await host.send(1, "skills/list", {});
      const asked = running.received
        .filter(({ method }) => method === "skills/list")
        .map(({ server }) => server);
      return { asked: asked.toSorted(), answer };
    }

    test("asks each server that rules let it ask, and no other", async () => {
      expect((await listed({})).asked).toEqual(["a", "b"]);
      for (const effect of ["hide", "deny", "approve"]) {
        const one = await listed({ policy: { rules: [{ servers: ["b"], effect }] } });
        expect(one.asked).toEqual(["a"]);
        expect(one.answer.result).toMatchObject({ skills: [{ name: "y" }] });
      }
      const denied = await listed({ policy: { default: "deny", rules: [] } });
      expect(denied.asked).toEqual([]);
      expect(facts(denied.answer.error)).toMatchObject({ code: "denied" });
      const hidden = await listed({ policy: { rules: [{ methods: ["skills/*"], effect: "hide" }] } });
      expect(hidden.answer.error).toMatchObject({
        code: -32601,
        message: "method skills/list is not served here",
      });
    });
  },
);

describe("an explanation of a method of a vendor", () => {
  const policy = {
    rules: [
      { name: "no-drop", tools: ["*__drop"], effect: "deny" },
      { name: "no-prod", tools: ["db__query"], when: "args.env == 'prod'", effect: "deny" },
      { name: "bob-out", principals: ["bob"], methods: ["ops/*"], effect: "hide" },
      { name: "ops", methods: ["ops/*"], effect: "allow" },
    ],
  };
  const limits = [{ name: "few", methods: ["ops/*"], rate: "2/h" }];
  const supposed = (name: string, args: JsonObject, as = "ann") => ({ name, args, as, scopes: [] });

  test("shows its route, the rule that decides, and the limits that apply", async () => {
    const { gateway } = await openGateway({ db: DB, files: FILES }, { policy, limits });
    expect(await gateway.explain(supposed("ops/run", {}))).toMatchObject({
      ...{ server: "db", target: "ops/run", effect: "allow", rule: "ops", visible: true },
      limits: [{ limit: "few", waitMs: 0 }],
    });
    expect(await gateway.explain(supposed("ops/run", { name: "db__drop" }))).toMatchObject({
      ...{ effect: "deny", rule: "no-drop" },
      rules: expect.arrayContaining([
        expect.objectContaining({ rule: "no-drop", of: "db__drop", matches: true, decides: true }),
        expect.objectContaining({ rule: "ops", matches: true, decides: true }),
      ]),
    });
    const prod = supposed("ops/run", { name: "db__query", input: { env: "prod" } });
    expect(await gateway.explain(prod)).toMatchObject({ effect: "deny", rule: "no-prod" });
    expect(await gateway.explain(supposed("ops/run", {}, "bob"))).toMatchObject({
      ...{ effect: "hide", rule: "bob-out", visible: false },
    });
  });

  test("shows why it has no route", async () => {
    const { gateway } = await openGateway({ db: DB, files: { ...FILES, ...declares("ops") } }, { policy });
    expect(await gateway.explain(supposed("ops/run", {}))).toEqual({
      unknown:
        "several servers could be meant by method ops/run: db, files; ask one of them alone, at its own path",
    });
    expect(await gateway.explain(supposed("nobody/run", {}))).toEqual({
      unknown: "there is no tool, prompt or resource nobody/run for ann",
    });
  });
});
