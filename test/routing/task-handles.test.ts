import { createSecretKey, randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { Client } from "../../src/core/client.js";
import { issuerOf } from "../../src/core/owners.js";
import { type Task, TaskHandles } from "../../src/routing/tasks.js";
import { fakeClient } from "../support/fake-upstream.js";
import fc from "../support/fast-check.js";

const keyOf = (text: string) => createSecretKey(Buffer.alloc(32, text));
const handles = new TaskHandles(keyOf("ours"));

const tasks = fc.record<Task>({ server: fc.string(), id: fc.string({ unit: "binary" }), tool: fc.string() });
const clients = fc
  .record({ id: fc.string(), scope: fc.string(), session: fc.boolean() })
  .map(({ id, scope: endpoint, session }) =>
    fakeClient({ principal: { id, groups: [], claims: {} }, affinity: id, endpoint, session }),
  );
const sameBinding = (a: Client, b: Client): boolean =>
  a.principal.id === b.principal.id && a.endpoint === b.endpoint && a.session === b.session;

/** Well-formed text: lone surrogates do not survive any JSON between two processes. */
const isWellFormed = ({ server, id, tool }: Task): boolean =>
  [server, id, tool].every((text) => text.isWellFormed());

describe("the handle of a task", () => {
  test("opens to the very task for whom it was sealed, and is the same each time", () => {
    fc.assert(
      fc.property(tasks.filter(isWellFormed), clients, (task, client) => {
        const handle = handles.seal(task, client);
        expect(handles.open(handle, client)).toEqual(task);
        expect(handles.seal(task, client)).toBe(handle);
        expect(new TaskHandles(keyOf("ours")).open(handle, client)).toEqual(task);
      }),
    );
  });

  test("names its process, and opens in any other that shares the key", () => {
    fc.assert(
      fc.property(
        tasks.filter(isWellFormed),
        clients,
        fc.stringMatching(/^[0-9a-z]{1,8}$/),
        (task, client, issuer) => {
          const handle = new TaskHandles(keyOf("ours"), issuer).seal(task, client);
          expect(issuerOf(handle)).toBe(issuer);
          expect(new TaskHandles(keyOf("ours"), "5").open(handle, client)).toEqual(task);
          expect(new TaskHandles(keyOf("others"), issuer).open(handle, client)).toBeUndefined();
        },
      ),
    );
  });

  test("opens for no other principal, scope or kind of client", () => {
    fc.assert(
      fc.property(tasks, clients, clients, (task, owner, thief) => {
        fc.pre(!sameBinding(owner, thief));
        expect(handles.open(handles.seal(task, owner), thief)).toBeUndefined();
      }),
    );
  });

  test("is invalid when a single character differs", () => {
    fc.assert(
      fc.property(
        tasks,
        clients,
        fc.nat(),
        fc.constantFrom(..."AZaz09-_.=+/ é".split("")),
        (task, client, at, by) => {
          const handle = handles.seal(task, client);
          const place = at % handle.length;
          fc.pre(handle[place] !== by);
          const tampered = handle.slice(0, place) + by + handle.slice(place + 1);
          expect(handles.open(tampered, client)).toBeUndefined();
        },
      ),
    );
  });

  test("is invalid when it is truncated, extended, or written in another notation", () => {
    const client = fakeClient();
    const handle = handles.seal({ server: "files", id: "1", tool: "copy" }, client);
    for (let length = 0; length < handle.length; length += 1) {
      expect(handles.open(handle.slice(0, length), client)).toBeUndefined();
    }
    expect(handles.open(`${handle}A`, client)).toBeUndefined();
    expect(handles.open(`${handle}=`, client)).toBeUndefined();
    expect(handles.open(` ${handle}`, client)).toBeUndefined();
  });

  test("cannot be made up, nor made by a process with another key", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.base64String().map((text) => `task1.${text}`),
        ),
        (text) => {
          expect(handles.open(text, fakeClient())).toBeUndefined();
        },
      ),
    );
    const strange = new TaskHandles(keyOf("theirs")).seal({ server: "a", id: "1", tool: "t" }, fakeClient());
    expect(handles.open(strange, fakeClient())).toBeUndefined();
    const random = `task1.${randomBytes(100_000).toString("base64url")}`;
    expect(handles.open(random, fakeClient())).toBeUndefined();
  });

  test("shows neither the server nor its own id, and fits into a header as it is", () => {
    const id = "786512e2-9e0d-44bd-8f29-789f320fe840";
    const handle = handles.seal({ server: "billing", id, tool: "charge" }, fakeClient());
    const clear = Buffer.from(handle.slice("task1.".length), "base64url").toString("latin1");
    for (const secret of [id, "billing", "charge"]) expect(clear).not.toContain(secret);
    expect(handle).toMatch(/^[\w.-]+$/);
    expect(handle.length).toBeLessThan(160);
  });
});

test("a key of another length is refused", () => {
  expect(() => new TaskHandles(createSecretKey(Buffer.alloc(16)))).toThrow(RangeError);
});
