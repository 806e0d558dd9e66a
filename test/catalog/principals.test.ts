/** What one principal may see says nothing of, and gives nothing to, another. */
import { describe, expect, test, vi } from "vitest";
import type { Client, Principal } from "../../src/core/client.js";
import { listHandler } from "../../src/routing/router.js";
import { fakeCall } from "../support/fake-call.js";
import { fakeTime } from "../support/fake-time.js";
import { fakeClient, fakeUpstream } from "../support/fake-upstream.js";
import { catalogOf, names, tool } from "./support.js";

fakeTime();

const principal = (id: string, groups: readonly string[] = []): Principal => ({ id, groups, claims: {} });
const as = (who: Principal): Client => ({ ...fakeClient(), principal: who, affinity: who.id });

/** Tools are named by a number; admins see all of them, the others those that `shows` lets through. */
async function gateway(count: number, shows: (number: number) => boolean) {
  const tools = Array.from({ length: count }, (_, at) => tool(`t${String(at).padStart(5, "0")}`));
  const upstream = fakeUpstream("s", { lists: { tools } });
  const catalog = catalogOf([upstream], {
    isVisible: ({ principal: { groups } }, { target }) =>
      groups.includes("admins") || shows(Number(target.slice(1))),
  });
  await vi.advanceTimersByTimeAsync(0);
  return catalog;
}

describe("a cursor of another principal", () => {
  test("only reveals the reader's own entries", async () => {
    const catalog = await gateway(3_000, (number) => number % 2 === 0);
    const list = listHandler(catalog);
    const page = async (client: Client, cursor?: string) => {
      const params = cursor === undefined ? {} : { cursor };
      const reply = await list(fakeCall({ method: "tools/list", params, client }));
      if (reply.kind !== "result") throw new Error(reply.kind);
      const { tools, nextCursor } = reply.result.object as {
        tools: { name: string }[];
        nextCursor?: string;
      };
      return { names: tools.map(({ name }) => name), nextCursor };
    };
    const [admin, user] = [as(principal("root", ["admins"])), as(principal("ann"))];
    const own = new Set(names(catalog, "tools", user));
    const first = await page(admin);
    expect(first.names).toHaveLength(1_000);
    const taken = await page(user, first.nextCursor);
    expect(taken.names.length).toBeGreaterThan(0);
    expect(taken.names.every((name) => own.has(name))).toBe(true);
    // Nor does it matter to its owner.
    expect((await page(admin, first.nextCursor)).names[0]).toBe("s__t01000");
  });
});

describe("the same principal with other credentials", () => {
  test("sees what these credentials grant, not what others granted a moment ago", async () => {
    const catalog = await gateway(2, (number) => number === 0);
    const much = principal("ann", ["admins"]);
    const little = principal("ann");
    expect(names(catalog, "tools", as(much))).toEqual(["s__t00000", "s__t00001"]);
    expect(names(catalog, "tools", as(little))).toEqual(["s__t00000"]);
    expect(names(catalog, "tools", as(much))).toEqual(["s__t00000", "s__t00001"]);
    expect(catalog.toolEntry(as(little), "s__t00001")).toBeUndefined();
  });
});
