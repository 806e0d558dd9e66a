/** Reads the parameters of pages. */
import { expect, test } from "vitest";
import { readExplainQuery } from "../../../src/features/admin/queries.js";

test("a call is given by name, arguments, principal and groups", () => {
  const query = new URLSearchParams('name=db__drop&args={"env":"prod"}&as=ann&group=dev&group=ops&scope=s');
  expect(readExplainQuery(query)).toEqual({
    name: "db__drop",
    args: { env: "prod" },
    as: "ann",
    groups: ["dev", "ops"],
    scopes: ["s"],
  });
  expect(readExplainQuery(new URLSearchParams("name=x"))).toEqual({
    name: "x",
    args: {},
    as: "anonymous",
    scopes: [],
  });
});

test.each(["", "name=", "name=x&args={", "name=x&args=[1]"])("%j is invalid", (query) => {
  expect(() => readExplainQuery(new URLSearchParams(query))).toThrow(/name=…|args=…/);
});
