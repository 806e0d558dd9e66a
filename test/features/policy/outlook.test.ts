/** What becomes of the calls of a tool, in the lists that operators and persons read. */
import { createHash } from "node:crypto";
import { describe, expect, onTestFinished, test } from "vitest";
import { outlookOf } from "../../../src/features/policy/outlook.js";
import { gatewayOf } from "../../support/gateway.js";
import { recordingServer } from "../../support/servers/recording-server.js";

const NAMES = ["read", "write", "delete", "sum", "mail"];
const RULES = [
  { name: "read-only", tools: ["*__write"], groups: ["guests"], effect: "deny", message: "guests only read" },
  { name: "ask", tools: ["*__delete"], effect: "approve" },
  { name: "small", tools: ["*__sum"], when: "args.a > 3", effect: "deny" },
  { name: "clean", tools: ["*__mail"], redact: { results: { paths: ["a"] } }, effect: "redact" },
];

/** The tools of `as` that are not plainly allowed. */
async function marked(file: object, as?: string): Promise<Readonly<Record<string, unknown>>> {
  const server = await recordingServer("wiki", "modern", { tools: NAMES }, () => {});
  const gateway = await gatewayOf({
    mcpServers: { wiki: { type: "http", url: server.url } },
    policy: { rules: RULES },
    ...file,
  });
  onTestFinished(async () => {
    await gateway.stop({ immediate: true });
    await server.close();
  });
  const found = await gateway.lists("tools", as === undefined ? {} : { as: { as, scopes: [] } });
  expect(found).toHaveLength(NAMES.length);
  return Object.fromEntries(
    found.flatMap(({ item, calls }) => (calls === undefined ? [] : [[String(item.name), calls] as const])),
  );
}

describe("the list of a principal", () => {
  const hash = `sha256:${createHash("sha256").update("k").digest("hex")}`;
  const keys = [
    { id: "ann", hash },
    { id: "guest", hash: hash.replace(/.$/, "0"), groups: ["guests"] },
  ];

  test("marks what is refused, needs approval or depends on arguments, and nothing else", async () => {
    expect(await marked({ auth: { keys } }, "guest")).toEqual({
      wiki__write: { effect: "deny", rule: "read-only", message: "guests only read" },
      wiki__delete: { effect: "approve", rule: "ask" },
      wiki__sum: { effect: "depends", rule: "small" },
    });
    expect(await marked({ auth: { keys } }, "ann")).toEqual({
      wiki__delete: { effect: "approve", rule: "ask" },
      wiki__sum: { effect: "depends", rule: "small" },
    });
  });

  test("marks what the default refuses, without a rule", async () => {
    const policy = {
      default: "deny",
      rules: [{ tools: ["*__read", "*__write", "*__mail"], effect: "allow" }],
    };
    expect(await marked({ policy })).toEqual({
      wiki__delete: { effect: "deny" },
      wiki__sum: { effect: "deny" },
    });
  });

  test("marks nothing while the groups of a person of tokens are not known", async () => {
    const jwt = { issuer: "https://login.example.com", audience: ["x"] };
    expect(await marked({ auth: { jwt } }, "guest")).toEqual({});
  });
});

test("several decisions with one effect are that effect", () => {
  const rule = (name: string) => ({ name, effect: "deny", on: "call" }) as const;
  expect(outlookOf([{ effect: "deny", rule: rule("a") }, { effect: "hide" }])).toEqual({
    effect: "deny",
    rule: "a",
  });
  expect(outlookOf([{ effect: "redact" }, { effect: "allow" }])).toEqual({ effect: "allow" });
});
