import { describe, expect, test } from "vitest";
import type { RuleConfig } from "../../../../src/features/policy/config.js";
import { type AdvisedConfig, policyAdvice } from "../../../../src/features/policy/rules/advice.js";
import { limit, rule } from "../support.js";

type Given = Partial<RuleConfig> & Pick<RuleConfig, "effect">;
const servers = ["files", "db"].map((name) => ({ name, prefix: "" }));
const naming = { separator: "__", maxLength: 60 };
const key = { id: "ann", digest: "", groups: ["ops"] };
const auth = { keys: [key], requiredScopes: [] };
const jwt = { issuer: "https://a.example", audience: [], algorithms: [], groupsClaim: "groups", scopes: [] };
const advice = (rules: readonly Given[], over: Partial<AdvisedConfig> = {}) => {
  const policy = { default: "allow", rules: rules.map(rule) } as const;
  const tokens = { ...auth, jwt };
  const found = policyAdvice({ features: { policy }, servers, naming, auth: tokens, ...over });
  return found.map(({ path, message }) => [path.join("."), message]);
};

describe("a rule that never decides is reported", () => {
  test.each<[string, Given, Given]>([
    [
      "behind one that matches everything",
      { effect: "deny" },
      { tools: ["a"], when: "args.x", effect: "allow" },
    ],
    ["behind a wider glob", { tools: ["db__*"], effect: "deny" }, { tools: ["db__read_*"], effect: "allow" }],
    [
      "behind a glob that matches its name",
      { tools: ["*_all"], effect: "deny" },
      { tools: ["drop_all"], effect: "allow" },
    ],
    [
      "behind several globs",
      { tools: ["a*", "b*"], effect: "deny" },
      { tools: ["b1", "a2"], effect: "allow" },
    ],
    [
      "behind the same condition",
      { when: "args.x", effect: "deny" },
      { tools: ["a"], when: "args.x", effect: "allow" },
    ],
    [
      "behind the same for everybody",
      { tools: ["a"], effect: "deny" },
      { tools: ["a"], principals: ["ann"], effect: "allow" },
    ],
  ])("%s", (_, earlier, later) => {
    expect(advice([earlier, later])).toEqual([
      [
        "policy.rules.1",
        'rule "rule-2" never decides: "rule-1" matches all that it matches, and comes first',
      ],
    ]);
  });
});

describe("a rule that may decide causes no advice", () => {
  test.each<[string, Given, Given]>([
    ["behind a condition", { when: "args.x", effect: "deny" }, { effect: "allow" }],
    [
      "behind a narrower glob",
      { tools: ["db__read_*"], effect: "deny" },
      { tools: ["db__*"], effect: "allow" },
    ],
    ["of another kind", { on: "sampling", effect: "deny" }, { effect: "allow" }],
    [
      "about prompts, behind one about tools",
      { tools: ["*"], effect: "deny" },
      { prompts: ["a"], effect: "allow" },
    ],
    ["about everything, behind one about tools", { tools: ["*"], effect: "deny" }, { effect: "allow" }],
    [
      "behind other principals",
      { principals: ["bob"], effect: "deny" },
      { principals: ["ann"], effect: "allow" },
    ],
    ["behind a group", { groups: ["ops"], effect: "deny" }, { effect: "allow" }],
    ["behind other servers", { servers: ["db"], effect: "deny" }, { servers: ["files"], effect: "allow" }],
    [
      "behind a glob that only looks wider",
      { tools: ["{a,b}*"], effect: "deny" },
      { tools: ["c*"], effect: "allow" },
    ],
  ])("%s", (_, earlier, later) => {
    expect(advice([earlier, later])).toEqual([]);
  });
});

test("an unknown server is reported, for rules and limits", () => {
  const found = policyAdvice({
    features: {
      policy: { default: "allow", rules: [rule({ servers: ["files", "fiels"], effect: "deny" })] },
      limits: [limit({ servers: ["nope*"], concurrency: 1 })],
    },
    servers,
    naming,
  });
  expect(found.map(({ path }) => path.join("."))).toEqual(["policy.rules.0.servers.1", "limits.0.servers.0"]);
  expect(found[0]?.message).toBe('no server of this config has such a name; did you mean "files"?');
});

test("a condition on a question, in a rule about calls, is reported", () => {
  const when = "request.message.matches('(?i)password')";
  expect(advice([{ when, effect: "deny" }])).toEqual([
    ["policy.rules.0.when", 'a call has no "request": questions of servers are evaluated by rules with "on"'],
  ]);
  expect(advice([{ on: "elicitation", when, effect: "deny" }])).toEqual([]);
});

describe("names and URIs that nothing can have are reported", () => {
  const prefixed = ["files", "d b"].map((prefix) => ({ name: prefix, prefix }));
  const told = (given: Given) => advice([given], { servers: prefixed });
  const beginning = "matches no name: they begin with";

  test.each<[string, Given, string]>([
    [
      "with the prefix of no server",
      { tools: ["search__*"], effect: "deny" },
      `"search__*" ${beginning} files__, d_b__`,
    ],
    ["without a prefix", { tools: ["read"], effect: "deny" }, `"read" ${beginning} files__, d_b__`],
    [
      "with a prefix as it is not written",
      { prompts: ["d b__*"], effect: "deny" },
      `"d b__*" ${beginning} files__, d_b__; did you mean d_b__*?`,
    ],
    [
      "of another server than those that are named",
      { tools: ["files__*"], servers: ["d b"], effect: "deny" },
      `"files__*" ${beginning} d_b__`,
    ],
    [
      "with signs that are replaced",
      { tools: ["files__my.tool"], effect: "deny" },
      '"files__my.tool" matches no name: characters other than A-Z a-z 0-9 _ - become _',
    ],
    [
      "of resources as their server writes them",
      { resources: ["file:///etc/*"], effect: "deny" },
      '"file:///etc/*" matches no URI: they begin with files+, d-b+, ui:, skill:, http:, https:',
    ],
  ])("%s", (_, given, message) => {
    const [at = ""] = ["tools", "prompts", "resources"].filter((kind) => kind in given);
    expect(told(given)).toEqual([[`policy.rules.0.${at}.0`, message]]);
  });

  test.each<Given>([
    { tools: ["files__*", "d_b__x", "*__delete_*", "{files.,files}__*", "f*", "?iles__a"], effect: "deny" },
    { tools: ["files__*"], servers: ["f*"], effect: "deny" },
    { resources: ["files+*", "D-B+x:1", "https://*", "*secret*", "ui://files/x"], effect: "deny" },
  ])("%j can be", (given) => {
    expect(told(given)).toEqual([]);
  });

  test("but not if a server has no prefix", () => {
    expect(advice([{ tools: ["anything"], effect: "deny" }])).toEqual([]);
  });
});

describe("groups and scopes that no principal has are reported", () => {
  const rules: readonly Given[] = [
    { groups: ["ops", "opps"], effect: "deny" },
    { scopes: ["write"], effect: "deny" },
  ];
  const paths = (over: Partial<AdvisedConfig>) => advice(rules, over).map(([path]) => path);

  test("with the nearest, and so are principals", () => {
    expect(
      advice([{ groups: ["opps"], principals: ["anne", "*", "anonymous", "zoe"], effect: "deny" }], { auth }),
    ).toEqual([
      ["policy.rules.0.principals.0", 'no key of auth has this principal; did you mean "ann"?'],
      ["policy.rules.0.principals.3", "no key of auth has this principal"],
      [
        "policy.rules.0.groups.0",
        'no principal is in this group: no key of auth has it; did you mean "ops"?',
      ],
    ]);
    const open = policyAdvice({
      features: { policy: { default: "allow", rules: [rule({ principals: ["ann"], effect: "deny" })] } },
      servers,
      naming,
    });
    expect(open.map(({ message }) => message)).toEqual([
      'no host over HTTP comes as this principal: without "auth" all are anonymous',
    ]);
  });

  test("misspelled annotations are reported", () => {
    const annotations = { readonlyHint: true, readOnlyHint: true, vendorThing: true };
    expect(advice([{ annotations, effect: "deny" }])).toEqual([
      [
        "policy.rules.0.annotations.readonlyHint",
        'tools have no annotation of this name; did you mean "readOnlyHint"?',
      ],
    ]);
  });

  test("with API keys only, and without authentication", () => {
    expect(paths({ auth })).toEqual(["policy.rules.0.groups.1", "policy.rules.1.scopes.0"]);
    const { auth: _, ...anonymous } = { auth };
    expect(
      policyAdvice({
        features: { policy: { default: "allow", rules: rules.map(rule) } },
        servers,
        naming,
        ...anonymous,
      }),
    ).toHaveLength(3);
  });

  test("but not with tokens, which may have any claim", () => {
    expect(paths({})).toEqual([]);
  });
});

describe("methods that rules do not see as such are reported", () => {
  test.each([
    ["tools/call", "tools/call is evaluated by its target: use tools"],
    ["prompts/get", "prompts/get is evaluated by its target: use prompts"],
    ["resources/subscribe", "resources/subscribe is evaluated by its target: use resources"],
    ["completion/complete", "completion/complete is evaluated by its target: use prompts or resources"],
    [
      "tools/list",
      'tools/list is answered by the gateway, with what the caller may see: use a rule with effect "hide"',
    ],
    ["tasks/get", "tasks/get belongs to the call that created its task, and is not evaluated again"],
    ["server/discover", "server/discover is answered by the gateway and reaches no server"],
    ["ops /*", '"ops /*" matches no method: names are printable ASCII without spaces'],
  ])("%s", (method, message) => {
    expect(advice([{ methods: ["ops/*", method], effect: "deny" }])).toEqual([
      ["policy.rules.0.methods.1", message],
    ]);
  });

  test("and methods of vendors and lists of extensions are not", () => {
    expect(advice([{ methods: ["ops/*", "tasks/list", "skills/list"], effect: "deny" }])).toEqual([]);
  });

  test("and a rule about methods after one that covers it", () => {
    const rules: Given[] = [
      { methods: ["ops/*"], effect: "deny" },
      { methods: ["ops/run"], effect: "allow" },
    ];
    expect(advice(rules)).toMatchObject([["policy.rules.1", expect.stringContaining("never decides")]]);
    expect(advice([{ tools: ["*"], effect: "deny" }, ...rules.slice(1)])).toEqual([]);
  });
});
