/** Pages and skills of servers made of the SDK stay within reach of hosts of either era, beside those of others. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { inRepository } from "../support/cardea.js";
import { type MetGateway, metGateway } from "../support/met-gateway.js";
import type { Json } from "../support/peers/host.js";
import { openLegacy, openModern, type RawHost } from "../support/peers/raw.js";

const MAIN = inRepository("test/support/servers/pages-and-skills.mjs");
const server = (name: string, era: string) => ({ command: process.execPath, args: [MAIN, name, era] });
const UI = "io.modelcontextprotocol/ui";
const MIME_TYPES = { mimeTypes: ["text/html;profile=mcp-app"] };
const HOSTS = [
  ["2025-11-25", openLegacy],
  ["2026-07-28", openModern],
] as const;
/** By name, the eras that each speaks. */
const SERVERS = { sales: "legacy", stock: "both" };

let gateway: MetGateway;
beforeAll(async () => {
  const servers = Object.entries(SERVERS).map(([name, era]) => [name, server(name, era)]);
  gateway = await metGateway({ mcpServers: Object.fromEntries(servers) });
});
afterAll(() => gateway.stop());

describe.each(HOSTS)("a host of %s", (_revision, open) => {
  let host: RawHost;
  const ask = async (method: string, params: Json): Promise<Json> => {
    const { result, error } = await host.request(method, params);
    if (result === undefined) throw new Error(`${method}: ${JSON.stringify(error)}`);
    return result;
  };
  const textOf = ({ content }: Json): unknown => (content as readonly Json[])[0]?.text;
  beforeAll(async () => {
    host = await open({ url: gateway.url }, { capabilities: { extensions: { [UI]: MIME_TYPES } } });
  });
  afterAll(() => host.close());

  describe.each(Object.entries(SERVERS))("with the server %s, which is %s", (name, _era) => {
    test("lists a tool with its app page, and reads the page at the URI of the tool and of its result", async () => {
      const tool = (await host.list("tools")).find((item) => item.name === `${name}__show`);
      const page = `ui://${name}/${name}/board.html`;
      expect(tool?._meta).toEqual({ ui: { resourceUri: page } });
      const shown = await ask("tools/call", { name: `${name}__show`, arguments: {} });
      expect(shown._meta).toMatchObject({ ui: { resourceUri: page } });
      // The server knows that its host can show pages.
      expect(JSON.parse(String(textOf(shown)))).toEqual(MIME_TYPES);
      expect((await ask("resources/read", { uri: page })).contents).toEqual([
        { uri: page, mimeType: "text/html;profile=mcp-app", text: `<h1>${name}</h1>` },
      ]);
    });

    test("lets an app call a tool by the server's original name", async () => {
      const own = await open(
        { url: gateway.url },
        { capabilities: { extensions: { [UI]: { only: name } } } },
      );
      const call = () => own.request("tools/call", { name: "refresh", arguments: {} });
      expect((await call()).error?.code).toBe(-32602);
      await own.request("resources/read", { uri: `ui://${name}/${name}/board.html` });
      expect(textOf((await call()).result ?? {})).toBe(`refreshed by ${name}`);
      await own.close();
    });

    test("reads, searches and walks a skill by the URIs of the listing", async () => {
      const skills = (await ask("skills/list", {})).skills as readonly Json[];
      const listed = skills.find(({ frontmatter }) => (frontmatter as Json).name === `${name}-report`);
      const root = `skill://${name}/${name}-report`;
      expect(listed?.uri).toBe(`${root}/SKILL.md`);
      expect((await ask("skills/get", { uri: listed?.uri })).skill).toEqual(listed);
      for (const { uri, size } of (listed?.resources ?? []) as readonly Json[]) {
        const [file] = (await ask("resources/read", { uri })).contents as readonly Json[];
        expect(Buffer.byteLength(String(file?.text))).toBe(size);
      }
      const children = (await ask("resources/directory/read", { uri: root })).resources as readonly Json[];
      expect(children.map(({ uri }) => uri)).toEqual([`${root}/SKILL.md`, `${root}/templates`]);
      expect((await host.request("resources/directory/read", { uri: listed?.uri })).error?.code).toBe(-32602);
      expect((await host.request("skills/get", { uri: `${root}/no` })).error?.code).toBe(-32602);
    });
  });

  test("gets the capabilities of what is delivered: pages, skills and folders", () => {
    expect(host.introduction().capabilities.extensions).toEqual({
      [UI]: {},
      "io.modelcontextprotocol/skills": { directoryRead: true },
    });
  });
});

test("a list for a host of 2026-07-28 has its cache lifetime", async () => {
  const host = await openModern({ url: gateway.url });
  const { result } = await host.request("skills/list", {});
  expect(result).toMatchObject({ resultType: "complete", cacheScope: "private" });
  expect(result?.ttlMs).toBeTypeOf("number");
  await host.close();
});
