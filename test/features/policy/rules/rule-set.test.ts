import { describe, expect, test } from "vitest";
import type { Route } from "../../../../src/core/call.js";
import type { Client } from "../../../../src/core/client.js";
import type { RuleConfig } from "../../../../src/features/policy/config.js";
import type { PolicyInput } from "../../../../src/features/policy/rules/policy-input.js";
import { compileRules, RuleSet } from "../../../../src/features/policy/rules/rule-set.js";
import { clientOf, routeTo } from "../../../support/calls.js";
import { rule } from "../support.js";

type Given = Partial<RuleConfig> & Pick<RuleConfig, "effect">;

function bookOf(rules: readonly Given[], fallback: "allow" | "deny" | "hide" = "allow"): RuleSet {
  const compiled = compileRules(rules.map(rule));
  expect(compiled.faults).toEqual([]);
  return new RuleSet(compiled.rules, fallback);
}

const matter = (route: Route, over: Partial<PolicyInput> = {}): PolicyInput => ({
  on: "call",
  route,
  client: clientOf(),
  args: {},
  ...over,
});

const effectOf = (rules: readonly Given[], about: PolicyInput): string =>
  bookOf(rules).evaluate(about).effect;

const effectOfHidden = (book: RuleSet, route: Route): string => book.evaluate(matter(route)).effect;

const resource = (exposed: string, over: Partial<Route> = {}): Route => ({
  upstream: "files",
  target: exposed,
  exposed,
  kind: "resources",
  ...over,
});
const prompt: Route = { upstream: "db", target: "ask", exposed: "db__ask", kind: "prompts" };
const annotated = (annotations: Record<string, unknown>): Route => ({
  ...routeTo("db", "drop"),
  item: { name: "drop", annotations },
});

describe("the first rule that matches decides", () => {
  test("and nothing after it is evaluated", () => {
    const rules: Given[] = [
      { tools: ["db__read_*"], effect: "allow" },
      { tools: ["db__*"], effect: "deny" },
      { effect: "hide" },
    ];
    expect(effectOf(rules, matter(routeTo("db", "read_all")))).toBe("allow");
    expect(effectOf(rules, matter(routeTo("db", "drop")))).toBe("deny");
    expect(effectOf(rules, matter(routeTo("git", "log")))).toBe("hide");
  });

  test.each(["allow", "deny", "hide"] as const)("where none does, the default does: %s", (fallback) => {
    const book = bookOf([{ tools: ["x"], effect: "hide" }], fallback);
    expect(book.evaluate(matter(routeTo("db", "drop")))).toEqual({ effect: fallback });
  });
});

test("each principal that calls the same tool is evaluated for itself", () => {
  const book = bookOf([
    { groups: ["admins"], effect: "allow" },
    { when: "principal.id == 'bob' && args.env == 'prod'", effect: "deny" },
  ]);
  const route = routeTo("db", "drop");
  const [ann, bob, root] = [
    clientOf({ principal: { id: "ann", groups: [], claims: {} } }),
    clientOf({ principal: { id: "bob", groups: [], claims: {} } }),
    clientOf({ principal: { id: "bob", groups: ["admins"], claims: {} } }),
  ];
  const effect = (client: Client, env: string) => book.evaluate(matter(route, { client, args: { env } }));
  for (const _ of [1, 2]) {
    expect(effect(ann, "prod")).toEqual({ effect: "allow" });
    expect(effect(bob, "test")).toEqual({ effect: "allow" });
    expect(effect(bob, "prod").effect).toBe("deny");
    expect(effect(root, "prod").rule?.groups).toEqual(["admins"]);
  }
});

describe("a rule is about", () => {
  test.each<[string, Partial<RuleConfig>, Route, boolean]>([
    ["everything, when it names nothing", {}, prompt, true],
    ["tools of a name", { tools: ["db__*"] }, routeTo("db", "drop"), true],
    ["not prompts, when it names tools", { tools: ["*"] }, prompt, false],
    ["prompts and tools, when it names both", { tools: ["x"], prompts: ["db__*"] }, prompt, true],
    ["whole servers", { servers: ["d*"] }, prompt, true],
    ["not other servers", { servers: ["git"] }, prompt, false],
    ["tools of a server, both", { servers: ["git"], tools: ["*"] }, routeTo("db", "drop"), false],
    ["resources of a URI", { resources: ["files+file:///a/*"] }, resource("files+file:///a/b"), true],
    [
      "templates like resources",
      { resources: ["files+file:*"] },
      resource("files+file:///{p}", { kind: "resourceTemplates" }),
      true,
    ],
    [
      "a tool by its name in the whole gateway, whichever way the call came in",
      { tools: ["db__*"] },
      { upstream: "db", target: "drop", exposed: "drop", aggregateName: "db__drop", kind: "tools" },
      true,
    ],
    [
      "never a tool by the name it has on another way in",
      { tools: ["drop"] },
      { upstream: "db", target: "drop", exposed: "drop", aggregateName: "db__drop", kind: "tools" },
      false,
    ],
    ["tools that say so", { annotations: { readOnlyHint: true } }, annotated({ readOnlyHint: true }), true],
    ["not those that do not", { annotations: { readOnlyHint: true } }, annotated({}), false],
    ["tools that must be taken for it", { annotations: { destructiveHint: true } }, annotated({}), true],
    ["no prompts, when it asks for annotations", { annotations: { destructiveHint: true } }, prompt, false],
  ])("%s", (_, subject, route, matches) => {
    expect(effectOf([{ ...subject, effect: "deny" }], matter(route))).toBe(matches ? "deny" : "allow");
  });

  test.each<[string, Partial<RuleConfig>, boolean]>([
    ["principals by their id", { principals: ["an*"] }, true],
    ["not other principals", { principals: ["bob"] }, false],
    ["a group that the principal is in", { groups: ["ops", "dev"] }, true],
    ["not a group that it is not in", { groups: ["ops"] }, false],
    ["scopes that it has all of", { scopes: ["read", "write"] }, true],
    ["not scopes that it has some of", { scopes: ["read", "admin"] }, false],
  ])("%s", (_, subject, matches) => {
    const client = clientOf({
      principal: { id: "ann", groups: ["dev"], claims: { scope: "read write", scp: ["other"] } },
    });
    const decided = effectOf([{ ...subject, effect: "deny" }], matter(routeTo("db", "drop"), { client }));
    expect(decided).toBe(matches ? "deny" : "allow");
  });

  test("one kind of traffic only", () => {
    const book = bookOf([{ on: "sampling", effect: "deny" }]);
    const route = routeTo("db", "drop");
    expect(book.evaluate(matter(route)).effect).toBe("allow");
    expect(book.evaluate(matter(route, { on: "elicitation" })).effect).toBe("allow");
    expect(book.evaluate(matter(route, { on: "sampling" })).effect).toBe("deny");
  });
});

describe("a URI that can be written in several ways", () => {
  const secret = ["files+file:///secret/*"];
  const spellings = [
    "files+file:///secret/key",
    "files+file:///%73ecret/key",
    "files+file:///a/../secret/key",
    "files+file:///a/%2e%2e/secret/key",
    "files+file:///secret/%6bey",
  ];

  test.each(spellings)("cannot be used to walk around a rule that forbids: %s", (uri) => {
    expect(effectOf([{ resources: secret, effect: "deny" }], matter(resource(uri)))).toBe("deny");
  });

  test("is allowed only when every way to read it is", () => {
    const rules: Given[] = [{ resources: ["files+file:///open/*"], effect: "allow" }, { effect: "deny" }];
    expect(effectOf(rules, matter(resource("files+file:///open/a")))).toBe("allow");
    expect(effectOf(rules, matter(resource("files+file:///open/../secret/key")))).toBe("deny");
    expect(effectOf(rules, matter(resource("files+file:///open/%2e%2e/secret/key")))).toBe("deny");
  });

  test("is not shadowed by an earlier rule that redacts less", () => {
    const rules: Given[] = [
      { resources: ["files+file:///logs/*"], effect: "redact", redact },
      { resources: ["files+file:///plans/*"], effect: "approve" },
      { resources: secret, effect: "deny" },
    ];
    expect(effectOf(rules, matter(resource("files+file:///logs/a")))).toBe("redact");
    expect(effectOf(rules, matter(resource("files+file:///logs/../plans/a")))).toBe("approve");
    expect(effectOf(rules, matter(resource("files+file:///logs/../plans/../secret/key")))).toBe("deny");
  });

  test("is redacted by the rules of all its readings", () => {
    const rules: Given[] = [
      { resources: ["files+file:///logs/*"], effect: "redact", redact },
      { resources: ["*.key"], effect: "redact", redact },
      { resources: ["files+file:///plans/*"], effect: "approve" },
    ];
    const rulesOf = (uri: string) => {
      const { rule: decisive, redacting = [] } = bookOf(rules).evaluate(matter(resource(uri)));
      return [decisive?.name, ...redacting.map(({ name }) => name)];
    };
    expect(rulesOf("files+file:///logs/a")).toEqual(["rule-1"]);
    expect(rulesOf("files+file:///logs/a?b.key")).toEqual(["rule-1"]);
    expect(rulesOf("files+file:///x/a.key?line=1")).toEqual(["rule-2"]);
    expect(rulesOf("files+file:///x.key?/../logs/a")).toEqual(["rule-2", "rule-1"]);
    expect(rulesOf("files+file:///logs/../plans/a")).toEqual(["rule-3", "rule-1"]);
  });

  test("is what a condition over the target sees, each reading for itself", () => {
    const forbids: Given[] = [{ when: "target.startsWith('files+file:///secret/')", effect: "deny" }];
    const allows: Given[] = [
      { when: "target.startsWith('files+file:///open/')", effect: "allow" },
      { effect: "deny" },
    ];
    for (const uri of spellings) expect(effectOf(forbids, matter(resource(uri)))).toBe("deny");
    expect(effectOf(forbids, matter(resource("files+file:///open/a%20b?c")))).toBe("allow");
    expect(effectOf(allows, matter(resource("files+file:///open/a%20b?c")))).toBe("allow");
    expect(effectOf(allows, matter(resource("files+file:///open/%2e%2e/secret/key")))).toBe("deny");
    const both: Given[] = [
      { resources: ["*.key"], when: "target.contains('/secret/')", effect: "deny" },
      { effect: "allow" },
    ];
    expect(effectOf(both, matter(resource("files+file:///%73ecret/a.key?b")))).toBe("deny");
    expect(effectOf(both, matter(resource("files+file:///open/a.key?b")))).toBe("allow");
  });

  test("holds for list entries, for templates, and for hosts of both eras", () => {
    const rules: Given[] = [{ resources: secret, effect: "hide" }];
    const item = { uri: "file:///a/../secret/key" };
    const listed = resource("files+file:///a/../secret/key", { item });
    expect(effectOf(rules, matter(listed))).toBe("hide");
    expect(bookOf(rules).isVisible(clientOf(), listed)).toBe(false);
    expect(
      effectOf(rules, matter(resource("files+file:/secret/{name}", { kind: "resourceTemplates" }))),
    ).toBe("hide");
    const alone = resource("file:/secret/key", { aggregateName: "files+file:/secret/key" });
    expect(effectOf(rules, matter(alone))).toBe("hide");
  });

  test("with more readings than the limit is denied if a rule checks URIs, and only then", () => {
    const uri = `files+file:///open/${"%252e%c0%ae\\;//./".repeat(500)}`;
    const rules: Given[] = [{ resources: ["files+file:///open/*"], effect: "allow" }];
    expect(bookOf(rules).evaluate(matter(resource(uri)))).toMatchObject({
      effect: "deny",
      failed: expect.stringContaining("too many readings"),
    });
    expect(effectOf([{ tools: ["*"], effect: "deny" }], matter(resource(uri)))).toBe("allow");
    expect(effectOf([{ ...rules[0], servers: ["git"], effect: "deny" }], matter(resource(uri)))).toBe(
      "allow",
    );
  });

  test("is explained by the reading that decides", () => {
    const rules: Given[] = [
      { resources: ["files+file:///open/*"], effect: "allow" },
      { resources: secret, effect: "deny" },
    ];
    const answers = bookOf(rules).explain(matter(resource("files+file:///open/../secret/key")));
    expect(answers.map(({ answer }) => answer)).toEqual(["other target", "yes"]);
  });
});

const redact = {
  arguments: { paths: [], patterns: [] },
  results: { paths: [], patterns: [] },
  replacement: "",
};

describe("a tool whose name begins with the prefix of another server", () => {
  const exposed = "files__read_abcdefgh";
  const route: Route = {
    ...{ upstream: "bare", target: "files__read", kind: "tools" },
    ...{ exposed, unambiguousName: "files-read_abcdefgh", item: { name: "files__read" } },
  };

  test.each<[string, readonly Given[], string]>([
    ["the names of that server", [{ tools: ["files__*"], effect: "allow" }], "deny"],
    ["them by a condition", [{ when: "tool.startsWith('files__')", effect: "allow" }], "deny"],
    ["all names", [{ tools: ["*"], effect: "allow" }], "allow"],
    ["its own server", [{ servers: ["bare"], effect: "allow" }], "allow"],
    ["the name itself", [{ tools: [exposed], effect: "allow" }], "allow"],
    [
      "the names of that server and its own",
      [{ tools: ["files__*", "*_abcdefgh"], effect: "allow" }],
      "allow",
    ],
  ])("and a rule that allows %s", (_, rules, effect) => {
    expect(bookOf(rules, "deny").evaluate(matter(route)).effect).toBe(effect);
  });

  test("is restricted with the names of that server", () => {
    expect(effectOf([{ tools: ["files__*"], effect: "deny" }], matter(route))).toBe("deny");
    expect(bookOf([{ tools: ["files__*"], effect: "hide" }]).isVisible(clientOf(), route)).toBe(false);
  });
});

describe("a condition", () => {
  const route = routeTo("db", "drop");

  test("all apply", () => {
    const rules: Given[] = [{ when: "args.env == 'prod'", effect: "deny" }];
    expect(effectOf(rules, matter(route, { args: { env: "prod" } }))).toBe("deny");
    expect(effectOf(rules, matter(route, { args: { env: "test" } }))).toBe("allow");
    expect(effectOf(rules, matter(route))).toBe("allow");
  });

  test.each(["deny", "approve", "redact"] as const)(
    "that cannot be answered counts against the caller: %s",
    (effect) => {
      const redact = {
        arguments: { paths: [], patterns: [] },
        results: { paths: [], patterns: [] },
        replacement: "",
      };
      const rules: Given[] = [
        { when: "args.path.startsWith('/etc')", effect, ...(effect === "redact" && { redact }) },
      ];
      const decision = bookOf(rules).evaluate(matter(route, { args: { path: ["/etc/passwd"] } }));
      expect(decision).toMatchObject({ effect, failed: expect.any(String) });
    },
  );

  test("that cannot be answered allows nothing", () => {
    const rules: Given[] = [{ when: "args.path.startsWith('/home')", effect: "allow" }, { effect: "deny" }];
    expect(effectOf(rules, matter(route, { args: { path: ["/home"] } }))).toBe("deny");
  });
});

describe("what a client sees", () => {
  const drop = routeTo("db", "drop");
  const sees = (rules: readonly Given[], client: Client = clientOf()): boolean =>
    bookOf(rules).isVisible(client, drop);

  test.each<[string, readonly Given[], boolean]>([
    ["all, where nothing hides", [{ effect: "deny" }], true],
    ["not what is hidden", [{ tools: ["db__*"], effect: "hide" }], false],
    ["what an earlier rule lets it call", [{ tools: ["db__d*"], effect: "allow" }, { effect: "hide" }], true],
    ["what a later rule cannot show again", [{ effect: "hide" }, { effect: "allow" }], false],
    [
      "what it may call with some arguments",
      [{ when: "args.dry", effect: "allow" }, { effect: "hide" }],
      true,
    ],
    ["what is hidden from others", [{ principals: ["bob"], effect: "hide" }], true],
    ["not what a condition hides from it", [{ when: "principal.id == 'ann'", effect: "hide" }], false],
  ])("%s", (_, rules, visible) => {
    expect(sees(rules)).toBe(visible);
  });

  test.each<[string, readonly Given[], boolean]>([
    ["nothing", [], false],
    ["what a rule allows", [{ tools: ["db__d*"], effect: "allow" }], true],
    ["what a rule refuses with a reason", [{ tools: ["db__drop"], effect: "deny" }], true],
    ["what it may call with some arguments", [{ when: "args.dry", effect: "allow" }], true],
    ["nothing that another principal may call", [{ principals: ["bob"], effect: "allow" }], false],
    ["nothing for a rule about questions", [{ on: "sampling", effect: "allow" }], false],
  ])("with the default hide: %s", (_, rules, visible) => {
    const book = bookOf(rules, "hide");
    expect(book.hides).toBe(true);
    expect(book.isVisible(clientOf(), drop)).toBe(visible);
  });

  test("with the default hide, a reading that only restricts hides nothing by itself", () => {
    const listed = resource("files+file:///docs/a.md");
    const book = bookOf([{ resources: ["files+file:///docs/*"], effect: "allow" }], "hide");
    expect(book.isVisible(clientOf(), listed)).toBe(true);
    expect(book.isVisible(clientOf(), resource("files+file:///docs/../etc/x"))).toBe(false);
    expect(effectOfHidden(book, resource("files+file:///docs/%2e%2e/etc/x"))).toBe("hide");
    expect(effectOfHidden(book, listed)).toBe("allow");
  });

  test("with the default hide, questions of servers are refused", () => {
    expect(bookOf([], "hide").evaluate(matter(drop, { on: "sampling" })).effect).toBe("deny");
  });

  test("nothing that a rule hides which cannot be answered", () => {
    const client = clientOf({ principal: { id: "ann", groups: [], claims: { level: "high" } } });
    expect(sees([{ when: "principal.claims.level > 1", effect: "hide" }], client)).toBe(false);
  });
});

describe("of a server whose lists are not known, something may be visible", () => {
  const start = (kind: Route["kind"], exposed: string): Route => ({
    upstream: "db",
    target: "",
    exposed,
    kind,
  });
  const tools = start("tools", "db__");
  test.each<[string, readonly Given[], Route, boolean]>([
    ["not without a rule", [], tools, false],
    ["by a rule about such names", [{ tools: ["db__read"], effect: "allow" }], tools, true],
    ["by a glob that may be one", [{ tools: ["*read"], effect: "approve" }], tools, true],
    ["not by names of another server", [{ tools: ["git__log"], effect: "allow" }], tools, false],
    ["not by another kind", [{ prompts: ["db__ask"], effect: "allow" }], tools, false],
    ["not for another principal", [{ principals: ["bob"], effect: "allow" }], tools, false],
    ["not by a condition on who it is", [{ when: "principal.id == 'bob'", effect: "allow" }], tools, false],
    ["by a condition on the call", [{ when: "args.dry", effect: "allow" }], tools, true],
    ["by a rule about all of it", [{ servers: ["db"], effect: "allow" }], tools, true],
    ["not by a rule about questions", [{ on: "roots", effect: "allow" }], tools, false],
    ["not after a rule that hides", [{ servers: ["db"], effect: "hide" }, { effect: "allow" }], tools, false],
    ["by annotations", [{ annotations: { readOnlyHint: true }, effect: "allow" }], tools, true],
    [
      "not by annotations of tools, a prompt",
      [{ annotations: { readOnlyHint: true }, effect: "allow" }],
      start("prompts", "db__"),
      false,
    ],
    ["by its URIs", [{ resources: ["DB+file:*"], effect: "allow" }], start("resources", "db+"), true],
    [
      "by a URI without a prefix",
      [{ resources: ["ui://x"], effect: "allow" }],
      start("resources", "db+"),
      true,
    ],
    ["by methods that are named", [{ methods: ["ops/*"], effect: "allow" }], start("methods", ""), true],
    ["not by methods that are not", [{ servers: ["db"], effect: "allow" }], start("methods", ""), false],
  ])("%s", (_, rules, route, may) => {
    expect(bookOf(rules, "hide").mayShow(clientOf(), route)).toBe(may);
  });
});

describe("rules that cannot work are errors with their place", () => {
  test.each<[Given, readonly (string | number)[], string]>([
    [{ effect: "deny", when: "nope" }, ["when"], 'there is no variable "nope"'],
    [{ effect: "hide", when: "args.a == 1" }, ["when"], 'a rule that hides cannot look at "args"'],
    [{ effect: "approve", on: "sampling" }, ["effect"], '"approve" is for calls'],
    [{ effect: "redact" }, ["effect"], '"redact" needs a key "redact"'],
    [{ effect: "approve", methods: ["ops/*"] }, ["methods"], "a method has no person to ask"],
    [{ effect: "deny", methods: ["x"], annotations: { readOnlyHint: true } }, ["annotations"], "of tools"],
    [{ effect: "deny", rememberMs: 1 }, ["remember"], 'needs the effect "approve"'],
    [{ effect: "allow", maxTokens: 1 }, ["maxTokens"], 'needs "on": "sampling"'],
    [{ effect: "allow", maxRounds: 1 }, ["maxRounds"], 'for rules with "on"'],
    [
      {
        effect: "redact",
        redact: {
          arguments: { paths: [], patterns: [] },
          results: { paths: [], patterns: ["ok", "("] },
          replacement: "x",
        },
      },
      ["redact", "results", "patterns", 1],
      "not supported by RE2",
    ],
  ])("%j", (given, place, message) => {
    const { faults } = compileRules([rule({ effect: "allow" }), rule(given, 1)]);
    expect(faults).toEqual([
      { path: ["policy", "rules", 1, ...place], message: expect.stringContaining(message) },
    ]);
  });
});
