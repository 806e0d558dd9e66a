/** The table of methods, and what other parts derive from it. */
import { describe, expect, test } from "vitest";
import { LIST_METHODS } from "../../src/core/lists.js";
import { PARAMS } from "../../src/core/members.js";
import {
  INTERACTIVE_METHODS,
  METHODS,
  mirroredName,
  questionKind,
  RESUMABLE_METHODS,
  retarget,
  TARGETED_METHODS,
  TASK_METHODS,
  targetOf,
} from "../../src/core/methods.js";
import { CACHEABLE_METHODS, EXTENSION_OF, REMOVED_METHODS } from "../../src/downstream/modern/methods.js";
import { isSafeToRepeat } from "../../src/resilience/retry.js";
import { isForwardableMethod, SKILL_METHODS } from "../../src/routing/extensions.js";
import { hasNoTarget } from "../../src/routing/method-routes.js";
import { methodLabel } from "../../src/telemetry/finished-calls.js";
import { fakeCall } from "../support/fake-call.js";

const PARAMETERS = { name: "a", uri: "a", taskId: "a", ref: { type: "ref/prompt", name: "a" } };

describe.each(Object.entries(METHODS))("%s", (name, method) => {
  test("the derived sets that have it are those of its row", () => {
    expect({
      removed: REMOVED_METHODS.has(name),
      cacheable: CACHEABLE_METHODS.has(name),
      resumable: RESUMABLE_METHODS.has(name),
      interactive: INTERACTIVE_METHODS.has(name),
      ofTask: TASK_METHODS.has(name),
      ofTarget: TARGETED_METHODS.has(name),
      ofCatalog: LIST_METHODS.has(name),
      question: questionKind({ method: name }),
      needsDeclaration: EXTENSION_OF.get(name),
      ofSkills: SKILL_METHODS.has(name),
    }).toEqual({
      removed: method.revisions === "legacy",
      cacheable: method.isCacheable === true,
      resumable: method.isResumable === true,
      interactive: method.isInteractive === true,
      ofTask: method.answeredBy === "task",
      ofTarget: method.answeredBy === "target",
      ofCatalog: method.answeredBy === "catalog",
      question: method.question,
      needsDeclaration: method.extension?.endsWith("/tasks") === true ? method.extension : undefined,
      ofSkills: method.extension?.endsWith("/skills") === true && method.answeredBy === "target",
    });
  });

  test("its columns agree with each other", () => {
    expect(method.target !== undefined).toBe(method.answeredBy === "target");
    expect(method.question !== undefined).toBe(method.answeredBy === "host");
    if (method.isResumable) expect(method.isInteractive).toBe(true);
    if (method.answeredBy === "catalog") expect([method.isRead, method.isCacheable]).toEqual([true, true]);
  });

  test("its target is found and replaced, and the Mcp-Name header names it", () => {
    const target = targetOf(name, PARAMETERS);
    expect(target?.name).toBe(method.target && "a");
    expect(targetOf(name, retarget(name, PARAMETERS, "b"))?.name).toBe(method.target && "b");
    expect(mirroredName(name, PARAMETERS)).toBe(method.mirrors && "a");
  });

  test("it is repeated, counted, routed and forwarded as its row says", () => {
    const isOfHosts = method.answeredBy !== "host";
    expect(isSafeToRepeat(fakeCall({ method: name }))).toBe(method.isRead === true);
    expect(methodLabel(name)).toBe(isOfHosts ? name : "other");
    expect(hasNoTarget(name)).toBe(!isOfHosts || method.answeredBy === "edge");
    expect([isForwardableMethod(name), isForwardableMethod(name.toUpperCase())]).toEqual([false, false]);
  });

  test("its parameters are known", () => {
    expect(PARAMS.has(name)).toBe(true);
  });
});

test.each(["tools", "x-vendor/method", "__proto__", "toString", "notifications/progress"])(
  "%s is in no derived set",
  (name) => {
    expect(methodLabel(name)).toBe("other");
    expect([targetOf(name, PARAMETERS), mirroredName(name, PARAMETERS)]).toEqual([undefined, undefined]);
    expect([TASK_METHODS.has(name), RESUMABLE_METHODS.has(name), hasNoTarget(name)]).toEqual([
      false,
      false,
      true,
    ]);
  },
);

test("requests are the methods of the table, and no others have parameters", () => {
  const requests = [...PARAMS.keys()].filter((name) => !name.startsWith("notifications/"));
  expect(requests.sort()).toEqual(Object.keys(METHODS).sort());
});
