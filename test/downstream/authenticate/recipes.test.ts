/** The recipes of docs/auth.md, as they stand there. */
import "../../features/admin/needed.js";
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { advise } from "../../../src/config/advice.js";
import type { Config } from "../../../src/config/config.js";
import { formatProblem } from "../../../src/config/problem.js";
import { type GoodConfig, readConfig } from "../../../src/config/read.js";
import { createAuthentication } from "../../../src/downstream/authenticate/authentication.js";
import { SECTIONS, testOf } from "../../support/features.js";
import { authenticationOf, bearer, keyConfig, outcome } from "./support.js";

const page = readFileSync(new URL("../../../docs/auth.md", import.meta.url), "utf8");
const recipes = new Map(
  [...page.matchAll(/^### (\d+)\. [^\n]*\n[^#]*?```jsonc\n([\s\S]*?)```/gm)].map(([, number, text]) => [
    Number(number),
    text ?? "",
  ]),
);

function outcomeOf(number: number, env: Record<string, string> = {}): GoodConfig {
  const outcome = readConfig(recipes.get(number) ?? "", "docs/auth.jsonc", { env, sections: SECTIONS });
  if (!outcome.ok || outcome.problems.length > 0)
    throw new Error(outcome.problems.map(formatProblem).join("\n"));
  return outcome;
}
const config = (number: number, env?: Record<string, string>): Config => outcomeOf(number, env).config;
function authentication(number: number) {
  const { auth } = config(number);
  if (auth === undefined) throw new Error("this recipe has no auth");
  return createAuthentication(auth, { url: () => "http://127.0.0.1:8080/mcp" });
}

test("there are four, and each is a whole config", () => {
  expect([...recipes.keys()]).toEqual([1, 2, 3, 4]);
});

describe("recipe", () => {
  test("1: the key comes in, with its groups, and no other", async () => {
    const { auth } = config(1);
    const [entry] = auth?.keys ?? [];
    // The key in the page is a placeholder.
    const keys = [{ ...entry, ...keyConfig("ci", "a-key-of-ours", { groups: entry?.groups ?? [] }) }];
    const made = authenticationOf({ ...auth, keys });
    expect(await outcome(made, bearer("a-key-of-ours"))).toMatchObject({ id: "ci", groups: ["robots"] });
    expect(await outcome(made, bearer("another"))).toMatchObject({ status: 401 });
  });

  test("2: an unauthenticated client learns where to get a token and what it must grant", async () => {
    expect(authentication(2).metadata()).toMatchObject({
      resource: "https://mcp.example.com/mcp",
      authorization_servers: ["https://login.example.com/realms/main"],
      scopes_supported: ["mcp"],
    });
    const metadata = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp";
    expect(await outcome(authentication(2), {})).toMatchObject({
      status: 401,
      challenge: `Bearer resource_metadata="${metadata}", scope="mcp"`,
    });
  });

  testOf("policy")("3: its scopes are listed, and its rules can be applied", async () => {
    expect(authentication(3).metadata()).toMatchObject({ scopes_supported: ["db:read", "db:write"] });
    expect(await outcomeOf(3).check()).toEqual([]);
  });

  test("4: the token comes from the environment, and allows listening beyond loopback", () => {
    const made = config(4, { CARDEA_ADMIN_TOKEN: "a-token-of-some-length" });
    expect(made.features["listen.admin"]).toMatchObject({ host: "0.0.0.0", token: "a-token-of-some-length" });
    expect(advise(made).map(({ message }) => message)).toEqual(["there are no servers in it"]);
  });
});

test("the page names every path that needs no credentials", () => {
  for (const path of ["/healthz", "/readyz", "/.well-known/oauth-protected-resource"]) {
    expect(page).toContain(`\`${path}`);
  }
});
