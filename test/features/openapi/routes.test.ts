/** Can arguments in the path lead to another operation than the one that was called, to some servers? */
import { describe, expect, test } from "vitest";
import { documentOf, startApi } from "../../support/api.js";
import { openApi } from "./open-api.js";

const ok = { responses: { 200: { description: "ok" } } };
const get = (operationId: string) => ({ get: { operationId, ...ok } });
const DOCUMENT = documentOf({
  "/users/{id}": get("user"),
  "/users/me": get("me"),
  "/users/{id}/keys": get("keys"),
  "/users/{id}/keys/{key}": { ...get("key"), delete: { operationId: "remove", ...ok } },
  "/admin/{what}": { delete: { operationId: "wipe", ...ok } },
  "/{any}/x": get("any"),
  "/repos/{owner}/contents/{path}": get("contents"),
  "/{a}-{b}": get("pair"),
  "/pair-one": get("one"),
});

async function called(tool: string, args: Record<string, string>) {
  const api = await startApi();
  // The others are operations of the API too, though no tools.
  const { call } = await openApi(DOCUMENT, {
    baseUrl: api.url,
    include: { paths: ["/users/{id}", "/{any}/x", "/repos/**", "/{a}-{b}"], methods: ["get"] },
  });
  const result = await call(tool, args);
  return { url: api.asked[0]?.url, refusal: result.isError === true ? result.content[0]?.text : undefined };
}

describe("an argument does not make the path that of another operation:", () => {
  test.each([
    ["by its name", "user", { id: "me" }, "GET /users/me"],
    ["by its name in other case, which some servers ignore", "user", { id: "Me" }, "GET /users/me"],
    ["by an encoded letter", "user", { id: "%6De" }, "GET /users/me"],
    ["by a slash, which some servers decode first", "user", { id: "7/keys" }, "GET /users/{id}/keys"],
    ["by an encoded slash", "user", { id: "7%2fkeys" }, "GET /users/{id}/keys"],
    ["by a slash that is encoded twice", "user", { id: "7%252Fkeys" }, "GET /users/{id}/keys"],
    ["by a backslash", "user", { id: "7\\keys" }, "GET /users/{id}/keys"],
    ["by a slash at the end", "user", { id: "me/" }, "GET /users/me"],
    ["by two slashes", "user", { id: "7//keys" }, "GET /users/{id}/keys"],
    ["by several slashes", "user", { id: "7/keys/9" }, "GET /users/{id}/keys/{key}"],
    ["by two arguments in one segment", "pair", { a: "pair", b: "one" }, "GET /pair-one"],
  ])("%s", async (_, tool, args, other) => {
    const { refusal } = await called(tool, args);
    expect(refusal).toContain(`the path is that of another operation, to some servers: ${other}`);
  });

  test.each([
    ["a value that is the name of nothing", "user", { id: "7" }, "/users/7"],
    [
      "slashes that lead to no operation",
      "contents",
      { owner: "o", path: "docs/a.md" },
      "/repos/o/contents/docs%2Fa.md",
    ],
    ["the path of an operation of another method", "any", { any: "admin" }, "/admin/x"],
    ["a part of the name of another one", "user", { id: "mee" }, "/users/mee"],
    ["a broken encoding", "user", { id: "100%" }, "/users/100%25"],
  ])("%s is sent", async (_, tool, args, url) => {
    expect(await called(tool, args)).toEqual({ url, refusal: undefined });
  });
});
