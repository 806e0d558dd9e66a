/** Which `arguments` rules see: those that mean something to the server. */
import { describe, expect, test } from "vitest";
import type { Route } from "../../../../src/core/call.js";
import { wordOf } from "../../../support/calls.js";
import { fakeCall } from "../../../support/fake-call.js";
import { policyOf } from "../support.js";

const route: Route = { upstream: "s", target: "t", exposed: "s__t", kind: "resources" };
const onlyForTests = policyOf({
  default: "deny",
  rules: [{ effect: "allow", when: "args.env == 'test'" }],
});
const notForProd = policyOf({ rules: [{ effect: "deny", when: "args.env == 'prod'" }] });
const notInText = policyOf({ rules: [{ effect: "deny", when: "text(args).contains('prod')" }] });

describe("arguments", () => {
  test.each(["resources/read", "completion/complete", "resources/subscribe"])(
    "of a method that has none satisfy no rule: %s",
    async (method) => {
      const call = fakeCall({ method, params: { uri: "s+x:y", arguments: { env: "test" } }, route });
      expect(wordOf(await onlyForTests.handle(call))).toBe("denied");
    },
  );

  test("that are no object are seen as they are where MCP does not define the method", async () => {
    const ops = (args: unknown) => fakeCall({ method: "ops/run", params: { arguments: args }, route });
    expect(wordOf(await notInText.handle(ops(["prod"])))).toBe("denied");
    expect(wordOf(await notInText.handle(ops("prod")))).toBe("denied");
    expect(wordOf(await notInText.handle(ops(["test"])))).toBe("result");
    expect(wordOf(await notForProd.handle(ops(["prod"])))).toBe("denied");
    expect(wordOf(await notForProd.handle(ops({ env: "prod" })))).toBe("denied");
    expect(wordOf(await onlyForTests.handle(ops(["test"])))).toBe("denied");
    expect(wordOf(await onlyForTests.handle(ops({ env: "test" })))).toBe("result");
  });
});
