/** Which labels calls have: those of the config, and of annotations that were approved. */
import { expect, test } from "vitest";
import type { Route } from "../../../src/core/call.js";
import { LabelSource } from "../../../src/features/flow/labels.js";
import type { JsonObject } from "../../../src/wire/json.js";

const CONFIG = {
  servers: [
    {
      name: "mail",
      features: { flow: { reads: "private", content: "untrusted" } },
      overrides: {
        send: { features: { flow: { sends: "external" } } },
        help: { features: { flow: { reads: "public", content: "trusted" } } },
      },
    },
    { name: "web", features: {} },
    { name: "local", features: { flow: { sends: "internal" } } },
  ],
};

const route = (upstream: string, target: string, annotations?: JsonObject): Route => ({
  ...{ upstream, target, exposed: `${upstream}__${target}`, kind: "tools" },
  ...(annotations !== undefined && { item: { name: target, annotations } }),
});

const approving = new LabelSource(CONFIG, () => true);
const withoutLock = new LabelSource(CONFIG, () => false);
const NONE = { private: false, untrusted: false, external: false };

test("a tool has the labels of its server, with its own in their place", () => {
  expect(withoutLock.of(route("mail", "list"))).toEqual({ ...NONE, private: true, untrusted: true });
  expect(withoutLock.of(route("mail", "send"))).toEqual({ private: true, untrusted: true, external: true });
  expect(withoutLock.of(route("mail", "help"))).toEqual(NONE);
  expect(withoutLock.of({ ...route("mail", "note://1"), kind: "resources" })).toMatchObject({
    private: true,
  });
  expect(withoutLock.of(route("web", "get"))).toEqual(NONE);
});

test("a method without a target has those of its server, and of the tools that it names", () => {
  const method: Route = {
    ...{ upstream: "mail", target: "mail/batch", exposed: "mail/batch", kind: "methods" },
    namedTargets: [{ route: route("mail", "send"), surely: false }],
  };
  expect(withoutLock.of(method)).toEqual({ private: true, untrusted: true, external: true });
});

test.each([
  [{ privateHint: true }, { ...NONE, private: true }],
  [{ openWorldHint: true }, { ...NONE, untrusted: true }],
  [
    { openWorldHint: true, readOnlyHint: true },
    { ...NONE, untrusted: true },
  ],
  [
    { openWorldHint: true, readOnlyHint: false },
    { ...NONE, untrusted: true, external: true },
  ],
  [{ readOnlyHint: false, openWorldHint: false, privateHint: "true" }, NONE],
])("annotations %j mean labels only where the definition is approved", (annotations, labels) => {
  expect(approving.of(route("web", "get", annotations))).toEqual(labels);
  expect(withoutLock.of(route("web", "get", annotations))).toEqual(NONE);
});

test("the config takes precedence over annotations", () => {
  const annotations = { openWorldHint: true, readOnlyHint: false };
  expect(approving.of(route("local", "run", annotations))).toEqual({ ...NONE, untrusted: true });
});
