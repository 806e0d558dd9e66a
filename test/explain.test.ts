import { expect, test } from "vitest";
import { readSupposed } from "../src/explain.js";

test("a call is supposed by name, arguments, principal and groups", () => {
  const query = new URLSearchParams('name=db__drop&args={"env":"prod"}&as=ann&group=dev&group=ops&scope=s');
  expect(readSupposed(query)).toEqual({
    name: "db__drop",
    args: { env: "prod" },
    as: "ann",
    groups: ["dev", "ops"],
    scopes: ["s"],
  });
  expect(readSupposed(new URLSearchParams("name=x"))).toEqual({
    name: "x",
    args: {},
    as: "anonymous",
    scopes: [],
  });
});

test.each(["", "name=", "name=x&args={", "name=x&args=[1]"])("%j makes no sense", (query) => {
  expect(() => readSupposed(new URLSearchParams(query))).toThrow(/name=…|args=…/);
});
