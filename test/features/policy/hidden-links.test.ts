/** Results that list or link resources: what a rule or a filter hides is in none of them, at hosts of both eras. */
import { expect, test } from "vitest";
import type { JsonObject } from "../../../src/wire/json.js";
import { HOSTS, openGateway } from "../../support/open-gateway.js";
import { sample } from "../../support/sample.js";

const SKILLS = { extensions: { "io.modelcontextprotocol/skills": { directoryRead: true } } };
const entry = (uri: string) => ({ uri, name: uri });
const link = (uri: string) => ({ type: "resource_link", ...entry(uri) });
const text = (value: string) => ({ type: "text", text: value });
const embedded = (uri: string) => ({ type: "resource", resource: { uri, text: "of the tool" } });
const skill = (path: string) => ({
  uri: `skill://${path}/SKILL.md`,
  frontmatter: { name: path, description: "d" },
  resources: [entry(`skill://${path}/open.md`), entry(`skill://${path}/secret.md`)],
});

/** What the server answers, by method and what it is about; each names `memo:open` and something hidden. */
const ANSWERS: Readonly<Record<string, JsonObject>> = {
  "resources/directory/read": { resources: [entry("memo:open"), entry("memo:secret"), { name: "no URI" }] },
  "skills/list": { skills: [skill("pdf"), skill("secret")] },
  "skills/get": { skill: skill("pdf") },
  "resources/read": {
    contents: [
      { uri: "memo:open", text: "a" },
      { uri: "memo:secret", text: "b" },
    ],
  },
  "tools/call": {
    content: [text("see"), link("memo:open"), link("memo:secret"), embedded("memo:secret")],
    structuredContent: { uri: "memo:secret" },
    _meta: { ui: { resourceUri: "ui://secret/page" }, "x-kept": "memo:secret" },
  },
  "prompts/get": {
    messages: [
      { role: "user", content: text("see") },
      { role: "user", content: link("memo:secret") },
      { role: "user", content: link("memo:open") },
    ],
  },
};
const PARAMS: Readonly<Record<string, JsonObject>> = {
  "resources/directory/read": { uri: "a+memo:open" },
  "skills/get": { uri: "skill://a/pdf/SKILL.md" },
  "resources/read": { uri: "a+memo:open" },
  "tools/call": { name: "a__find", arguments: {} },
  "prompts/get": { name: "a__ask" },
};

const HIDING = {
  "a rule": {
    config: { policy: { rules: [{ resources: ["*secret*"], effect: "hide" }] } },
    entry: {},
    path: "",
  },
  "a filter of the server": { config: {}, entry: { resources: { deny: ["*secret*"] } }, path: "" },
  "a filter of the profile": {
    config: { profiles: { some: { servers: ["a", "b"], resources: { deny: ["*secret*"] } } } },
    entry: {},
    path: "/some",
  },
} as const;

const cases = Object.entries(HIDING).flatMap(([by, hiding]) =>
  HOSTS.flatMap((kind) =>
    Object.keys(ANSWERS)
      // Hosts of earlier revisions know no extension, and a pipe has no path.
      .filter((method) => kind.era === "modern" || !/skills|directory/.test(method))
      .filter(() => kind.door === "http" || hiding.path === "")
      .map((method) => [method, `${kind.era} host on ${kind.door}`, by, hiding, kind] as const),
  ),
);

test.each(sample("hidden links", cases, 15))(
  "%s of a %s names nothing that %s hides",
  async (method, _host, _by, hiding, kind) => {
    const offered = {
      tools: ["find"],
      prompts: ["ask"],
      resources: [
        "memo:open",
        "memo:secret",
        "skill://pdf/SKILL.md",
        "skill://secret/SKILL.md",
        "ui://secret/page",
      ],
      capabilities: SKILLS,
      entry: hiding.entry,
      answer: (received: { readonly method: string }) => ANSWERS[received.method],
    };
    const gateway = await openGateway({ a: offered, b: { tools: ["other"] } }, hiding.config);
    const host = await gateway.host(kind, "ann", hiding.path);
    const { result, error } = await host.send(1, method, PARAMS[method] ?? {});
    expect(error).toBeUndefined();
    const { structuredContent: _, content = [], ...rest } = result as JsonObject;
    const blocks = content as readonly JsonObject[];
    const named = JSON.stringify([
      { ...rest, _meta: { ...(rest._meta as object), "x-kept": undefined } },
      blocks.filter(({ type }) => type === "resource_link"),
    ]);
    expect(named).not.toContain("secret");
    expect(named).toMatch(/open/);
    // What a tool itself says stays.
    if (method === "tools/call")
      expect(blocks.map(({ type }) => type)).toEqual(["text", "resource_link", "resource"]);
  },
);
