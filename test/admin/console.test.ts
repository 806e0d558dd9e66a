/** The console's script on a page of the test's own: what it shows with and without a token, and what it sends. */
import { readFileSync } from "node:fs";
import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";

const file = (name: string): string =>
  readFileSync(new URL(`../../src/admin/console/${name}`, import.meta.url), "utf8");

/** As much of an element as the script uses. */
class FakeElement {
  readonly dataset: Record<string, string> = {};
  readonly heard = new Map<string, (event: { preventDefault: () => void }) => void>();
  children: (FakeElement | string)[] = [];
  className = "";
  title = "";
  value = "";
  hidden = false;
  open = false;
  focused = 0;

  append(...children: (FakeElement | string)[]): void {
    this.children.push(...children);
  }
  replaceChildren(...children: (FakeElement | string)[]): void {
    this.children = children;
  }
  addEventListener(name: string, hear: (event: { preventDefault: () => void }) => void): void {
    this.heard.set(name, hear);
  }
  focus(): void {
    this.focused += 1;
  }
  set textContent(text: string) {
    this.children = [text];
  }
  get textContent(): string {
    return this.children.map((child) => (typeof child === "string" ? child : child.textContent)).join("");
  }
}

const PAGES: Readonly<Record<string, unknown>> = {
  status: { version: "1", node: "v20", uptimeSeconds: 5, ready: true, reasons: [] },
  servers: [{ name: "files", transport: "stdio", state: "ready", required: false, tokens: 12_345 }],
  catalog: {
    tools: [{ name: "files__read", server: "files" }],
    prompts: [],
    resources: [],
    resourceTemplates: [],
  },
  sessions: [],
  questions: [],
  decisions: [],
  logins: [],
};

/** Opens the page in front of a gateway that wants `token`. */
async function opened(token: string | undefined, kept?: string, changed: Partial<typeof PAGES> = {}) {
  const elements = new Map<string, FakeElement>();
  for (const [tag, id = ""] of file("index.html").matchAll(/<\w[^>]*\sid="([^"]+)"[^>]*>/g)) {
    const element = new FakeElement();
    element.hidden = /\shidden(\s|>|\/)/.test(tag);
    elements.set(id, element);
  }
  const at = (id: string): FakeElement => {
    const element = elements.get(id);
    if (element === undefined) throw new Error(`there is nothing on the page called ${id}`);
    return element;
  };
  let redraw = (): void => {};
  const selected: { id?: string } = {};
  const storage = new Map<string, string>(kept === undefined ? [] : [["cardea-admin-token", kept]]);
  const sent: (string | undefined)[] = [];
  const fetch = async (url: string, { headers }: { headers: Record<string, string> }) => {
    sent.push(headers.authorization);
    const ok = token === undefined || headers.authorization === `Bearer ${token}`;
    return {
      ok,
      status: ok ? 200 : 401,
      json: async () => ({ ...PAGES, ...changed })[url.replace("/api/v1/", "")],
    };
  };
  runInNewContext(file("console.js"), {
    fetch,
    document: {
      getElementById: at,
      createElement: () => new FakeElement(),
      querySelectorAll: () => [],
      getSelection: () => ({
        isCollapsed: selected.id === undefined,
        containsNode: (node: unknown) => selected.id !== undefined && at(selected.id) === node,
      }),
    },
    sessionStorage: {
      getItem: (name: string) => storage.get(name) ?? null,
      setItem: (name: string, value: string) => storage.set(name, value),
      removeItem: (name: string) => storage.delete(name),
    },
    // Nothing is drawn again by itself; a test may do it.
    setTimeout: (look: () => void) => {
      redraw = look;
      return 0;
    },
  });
  const settle = () => new Promise((drawn) => setImmediate(drawn));
  const enter = async (text: string): Promise<void> => {
    at("token").value = text;
    at("door").heard.get("submit")?.({ preventDefault() {} });
    await settle();
  };
  await settle();
  const seen = () => ({
    door: !at("door").hidden,
    rooms: !at("rooms").hidden,
    links: !at("pages").hidden,
    wrong: !at("wrong").hidden,
    health: at("health").textContent,
    servers: at("servers").textContent.includes("files"),
  });
  const again = async (): Promise<void> => {
    redraw();
    await settle();
  };
  return { seen, enter, sent, storage, at, selected, again };
}

describe("the console", () => {
  test("shows everything where no token is needed", async () => {
    const { seen, sent } = await opened(undefined);
    expect(seen()).toEqual({
      door: false,
      rooms: true,
      links: true,
      wrong: false,
      health: "ready",
      servers: true,
    });
    expect(new Set(sent)).toEqual(new Set([undefined]));
  });

  test("shows what the tools of each server cost, and of all", async () => {
    const { at } = await opened(undefined);
    expect(at("servers").textContent).toContain("12,345");
    expect(at("numbers").textContent).toContain("Tools, 12,345 tokens");
  });

  test.each([
    [true, ["ready", "ready"], "good", "ready"],
    [true, ["ready", "idle"], "good", "ready"],
    [true, ["ready", "backoff"], "warn", "ready, 1 of 2 servers"],
    [true, ["starting", "backoff"], "warn", "ready, 0 of 2 servers"],
    [false, ["ready", "stopped"], "bad", "not ready, 1 of 2 servers"],
  ])("readiness %s with servers %j is %s: %s", async (ready, states, colour, words) => {
    const servers = states.map((state, at) => ({
      name: `s${at}`,
      transport: "stdio",
      state,
      required: false,
    }));
    const status = { version: "1", node: "v20", uptimeSeconds: 5, ready, reasons: [] };
    const { at } = await opened(undefined, undefined, { servers, status });
    expect([at("health").className, at("health").textContent]).toEqual([`badge ${colour}`, words]);
  });

  test("does not redraw a part with a text selection, and redraws the others", async () => {
    const { at, selected, again } = await opened(undefined);
    const [servers, sessions] = [at("servers").children, at("sessions").children];
    selected.id = "servers";
    await again();
    expect(at("servers").children).toBe(servers);
    expect(at("sessions").children).not.toBe(sessions);
    delete selected.id;
    await again();
    expect(at("servers").children).not.toBe(servers);
  });

  test("asks for the token, and shows nothing else until the token is valid", async () => {
    const { seen, enter, sent, storage, at } = await opened("the-right-one");
    const shut = { door: true, rooms: false, links: false, health: "locked", servers: false };
    expect([seen(), at("token").focused > 0]).toEqual([{ ...shut, wrong: false }, true]);
    await enter("the-wrong-one");
    expect([seen(), storage.size]).toEqual([{ ...shut, wrong: true }, 0]);
    await enter("ein ümlaut");
    expect(seen()).toEqual({ ...shut, wrong: true });
    await enter(" the-right-one ");
    // Links are followed without it.
    expect(seen()).toMatchObject({ door: false, rooms: true, links: false, health: "ready", servers: true });
    expect([at("token").value, [...storage.values()]]).toEqual(["", ["the-right-one"]]);
    expect(sent.at(-1)).toBe("Bearer the-right-one");
    expect(sent).not.toContain("Bearer ein ümlaut");
  });

  test("uses the token of the tab, and asks again when it is no longer valid", async () => {
    expect((await opened("new", "new")).seen()).toMatchObject({ door: false, servers: true });
    expect((await opened("new", "old")).seen()).toMatchObject({ door: true, wrong: true, servers: false });
  });
});
