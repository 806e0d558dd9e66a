/** What `explain` says of a person whose groups only a token knows. */
import { expect, onTestFinished } from "vitest";
import { testOf } from "../../support/features.js";
import { gatewayOf, listening } from "../../support/gateway.js";
import { AUDIENCE, issuer as startIssuer } from "../../support/issuer.js";
import { startUpstream, UPSTREAMS } from "../../support/scripted/upstreams.js";

const RULES = [
  { name: "leads-may", groups: ["leads"], effect: "allow" },
  { name: "bots-may", principals: ["bot-*"], groups: ["leads"], effect: "allow" },
];

/** A gateway for the tokens of an issuer, which refuses what no rule allows. */
async function started(rules: readonly object[] = RULES) {
  const issuer = await startIssuer();
  const [kind] = UPSTREAMS.filter(({ key }) => key === "legacy-http");
  if (kind === undefined) throw new Error("there is no such server");
  const { entry, stop } = await startUpstream(kind);
  onTestFinished(stop);
  const gateway = await gatewayOf({
    listen: { http: { port: 0 }, admin: { port: 0 } },
    auth: { jwt: { issuer: issuer.url, audience: AUDIENCE } },
    policy: { default: "deny", rules },
    mcpServers: { files: entry },
  });
  const { url } = await listening(gateway);
  await gateway.lists("tools");
  return {
    /** A host sends a request with a token of this person. */
    async visits(sub: string, groups: readonly string[]) {
      const authorization = `Bearer ${await issuer.token({ sub, groups })}`;
      const headers = {
        authorization,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      };
      const body = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
      await (await fetch(url, { method: "POST", headers, body })).text();
    },
    explain: (as: string, groups?: readonly string[]) =>
      gateway.explain({
        name: "files__echo",
        args: {},
        as,
        scopes: [],
        ...(groups !== undefined && { groups }),
      }),
    names: async (as: string) =>
      (await gateway.lists("tools", { as: { as, scopes: [] } })).map(({ item }) => item.name),
  };
}

testOf("policy")("before its first token, the decision depends on groups", async () => {
  const { explain } = await started();
  expect(await explain("ann")).toMatchObject({
    effect: "depends_on_groups",
    principal: { id: "ann", groups: [] },
    rules: [{ rule: "leads-may", matches: false, why: "it depends on groups, which are not known" }, {}],
  });
});

testOf("policy")("after it, the groups of the last token are used, and its time is said", async () => {
  const { explain, visits } = await started();
  await visits("ann", ["leads"]);
  expect(await explain("ann")).toMatchObject({
    effect: "allow",
    rule: "leads-may",
    principal: { groups: ["leads"], seenAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT/) },
  });
  await visits("ann", ["others"]);
  expect(await explain("ann")).toMatchObject({ effect: "deny", principal: { groups: ["others"] } });
});

testOf("policy")("groups that are given are the ones that count", async () => {
  const { explain, visits } = await started();
  await visits("ann", ["leads"]);
  const explained = await explain("ann", ["others"]);
  expect(explained).toMatchObject({ effect: "deny", principal: { groups: ["others"] } });
  expect(explained).not.toHaveProperty("principal.seenAt");
});

testOf("policy").each([
  [
    "a rule for other principals",
    [{ name: "bots", principals: ["bot-*"], groups: ["leads"], effect: "allow" }],
    "deny",
  ],
  [
    "a rule with the effect of the deciding one",
    [{ name: "no", groups: ["guests"], effect: "deny" }],
    "deny",
  ],
  ["a condition over the id", [{ name: "me", when: "principal.id == 'ann'", effect: "allow" }], "allow"],
  [
    "a condition over groups",
    [{ name: "in", when: "'leads' in principal.groups", effect: "allow" }],
    "depends_on_groups",
  ],
  [
    "a condition that holds without a group",
    [{ name: "out", when: "!('leads' in principal.groups)", effect: "allow" }],
    "depends_on_groups",
  ],
  [
    "a rule behind the deciding one",
    [
      { name: "all", effect: "allow" },
      { name: "no", groups: ["leads"], effect: "deny" },
    ],
    "allow",
  ],
])("%s: %j gives %s", async (_, rules, effect) => {
  const { explain } = await started(rules);
  expect(await explain("ann")).toMatchObject({ effect });
});

testOf("policy")("lists are those of the last token too", async () => {
  const { names, visits } = await started([
    { name: "hidden", tools: ["*echo"], when: "!('leads' in principal.groups)", effect: "hide" },
    { name: "rest", effect: "allow" },
  ]);
  expect(await names("ann")).not.toContain("files__echo");
  await visits("ann", ["leads"]);
  expect(await names("ann")).toContain("files__echo");
});
