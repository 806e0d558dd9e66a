/** A feature holds entries of a server's lists back, shows others in their place, and says why calls of them are refused. */
import { describe, expect, test } from "vitest";
import { type Call, compose } from "../../src/core/call.js";
import { GatewayError } from "../../src/core/errors.js";
import { composedAdmissions, type HeldEntries, type ListAdmission } from "../../src/core/list-admission.js";
import { SILENT } from "../../src/core/logger.js";
import { errorBoundary } from "../../src/resilience/error-boundary.js";
import { refuseHeld } from "../../src/routing/held-targets.js";
import { locate } from "../../src/routing/locate.js";
import { MethodRoutes } from "../../src/routing/method-routes.js";
import { itemsOf, names, server, tool } from "../catalog/support.js";
import { type FakeUpstream, fakeCall, fakeUpstream, resultReply } from "../support/fake-upstream.js";
import { frontOf } from "./support.js";

/** Holds the tools in `held`, and shows `instead` in place of entries of these names. */
function admissionOf(held: readonly string[], instead: Readonly<Record<string, object>> = {}) {
  const watchers = new Set<() => void>();
  const now = { names: [...held] as readonly string[] };
  const entries: HeldEntries = {
    unlisted: (kind) => (kind === "tools" ? now.names : NONE),
    refusal: (kind, own) =>
      kind === "tools" && now.names.includes(own)
        ? new GatewayError("quarantined", "gateway", `tool ${own} is held`, { server: "files" })
        : undefined,
  };
  const admission: ListAdmission = {
    admitted: (kind, items) =>
      kind === "tools"
        ? items
            .filter(({ name }) => !now.names.includes(String(name)))
            .map((item) => ({ ...item, ...instead[String(item.name)] }))
        : items,
    admittedFacts: (facts) => ({ ...facts, instructions: "as approved" }),
    held: entries,
    watch(changed) {
      watchers.add(changed);
      return () => watchers.delete(changed);
    },
  };
  return {
    admission,
    watchers,
    release(name: string) {
      now.names = now.names.filter((each) => each !== name);
      for (const changed of watchers) changed();
    },
  };
}

const NONE: readonly string[] = [];

function gatewayWith(upstreams: readonly FakeUpstream[], admission: ListAdmission) {
  const options = { admission: (name: string) => (name === "files" ? admission : undefined) };
  const { catalog, handle: route, tasks } = frontOf(upstreams, options);
  const layers = [
    locate(catalog, tasks, new MethodRoutes(catalog, tasks)),
    errorBoundary(SILENT),
    refuseHeld(new Map([["files", admission]])),
  ];
  return { catalog, handle: compose(layers, route) };
}

const files = () =>
  fakeUpstream("files", {
    lists: { tools: [tool("read"), tool("write"), tool("drop")] },
    instructions: "as sent",
  }).answers(() => resultReply({ content: [] }));

const callOf = (name: string): Call => fakeCall("tools/call", { name, arguments: {} });

describe("an entry that a feature holds", () => {
  test("is in no list, and a call of it gets the reason", async () => {
    const git = fakeUpstream("git", { lists: { tools: [tool("log")] } });
    const { catalog, handle } = gatewayWith([files(), git], admissionOf(["drop"]).admission);
    await catalog.prepare(callOf("x").client);
    expect(names(catalog)).toEqual(["files__read", "files__write", "git__log"]);
    expect(await handle(callOf("files__drop"))).toMatchObject({
      refusal: "quarantined",
      result: {
        object: { isError: true, content: [{ text: expect.stringContaining("tool drop is held") }] },
      },
    });
    expect(await handle(callOf("drop"))).toMatchObject({ refusal: "quarantined" });
    expect(await handle(callOf("files__read"))).not.toHaveProperty("refusal");
    expect(await handle(callOf("files__nothing"))).toMatchObject({ refusal: "unknown_target" });
  });

  test("is unknown to a client from which rules or filters hide it", async () => {
    const held = admissionOf(["drop"]).admission;
    const hidden = frontOf([files()], { admission: () => held, isVisible: () => false });
    expect(await hidden.handle(callOf("files__drop"))).toMatchObject({ refusal: "unknown_target" });
    const denied = { ...server("files"), tools: { allow: ["*"], deny: ["drop"] } };
    const filtered = frontOf([files()], { admission: () => held, servers: [denied] });
    expect(await filtered.handle(callOf("files__drop"))).toMatchObject({ refusal: "unknown_target" });
  });

  test("is listed as soon as it is released, and nothing watches a catalog that is closed", async () => {
    const { admission, release, watchers } = admissionOf(["drop", "write"]);
    const { catalog, handle } = gatewayWith([files()], admission);
    await catalog.prepare(callOf("x").client);
    expect(names(catalog)).toEqual(["files__read"]);
    release("write");
    expect(names(catalog)).toEqual(["files__read", "files__write"]);
    expect(await handle(callOf("files__write"))).not.toHaveProperty("refusal");
    catalog.close();
    expect(watchers.size).toBe(0);
  });
});

test("a feature shows another entry, and other instructions, than the server has sent; its own lists stay known", async () => {
  const shown = { read: { description: "approved" } };
  const { catalog } = gatewayWith([files()], admissionOf([], shown).admission);
  const { client } = callOf("x");
  await catalog.prepare(client);
  expect(itemsOf(catalog, "tools")[0]).toMatchObject({ name: "files__read", description: "approved" });
  expect(catalog.describe(client).instructions).toBe("as approved");
  expect(catalog.ownLists("files", "tools")).toEqual([[tool("read"), tool("write"), tool("drop")]]);
});

test("several features admit one after the other, and the first reason counts", () => {
  const one = admissionOf(["read"]);
  const other = admissionOf(["write"]);
  const both = composedAdmissions([one.admission, other.admission]);
  expect(both?.admitted("tools", [tool("read"), tool("write"), tool("drop")])).toEqual([tool("drop")]);
  expect(both?.held?.unlisted("tools")).toEqual(["read", "write"]);
  expect(both?.held?.unlisted("tools")).toBe(both?.held?.unlisted("tools"));
  expect(both?.held?.refusal("tools", "write")?.message).toBe("tool write is held");
  let changes = 0;
  const end = both?.watch(() => {
    changes += 1;
  });
  one.release("read");
  end?.();
  other.release("write");
  expect(changes).toBe(1);
  expect(composedAdmissions([])).toBeUndefined();
});
