/** The pages of the admin API and the names of metrics, of a gateway of every kind of server after a few calls. */
import { expect, test } from "vitest";
import { httpWire } from "../support/host/wires.mjs";
import { modernRequest, send } from "../support/http-host.js";
import { openLegacy, openModern } from "../support/peers/raw.js";
import { ADA, OPERATOR, openWorld, stable, type World } from "./world.js";

const QUERIES: Readonly<Record<string, string>> = {
  lists: "?kind=tools&all=true",
  explain: "?name=legacy-stdio__echo",
};

/** A call of each common outcome, a session, and two questions that wait for their answers. */
async function makeCalls({ url }: World): Promise<void> {
  const capabilities = { elicitation: { form: {}, url: {} } };
  const legacy = await openLegacy(httpWire(url, ADA), { capabilities });
  const modern = await openModern(httpWire(url, ADA), { capabilities });
  await legacy.call("legacy-http__echo", { text: "here" });
  await modern.call("legacy-stdio__echo", { text: "denied" });
  await modern.call("modern-http__echo", { text: "once" });
  await modern.call("modern-http__echo", { text: "twice" });
  await modern.call("pets__get_pet", { id: "1" });
  await modern.call("legacy-http__refuse_with", { error: { code: -32_000, message: "no" } });
  await modern.call("legacy-http__nothing", {});
  await modern.call("modern-http__form", {});
  await modern.call("modern-stdio__echo", { text: "ask first" });
}

test("each page of the admin API has these members in this order", async () => {
  const world = await openWorld();
  await makeCalls(world);
  const read = async (url: string): Promise<{ readonly status: number; readonly body: unknown }> => {
    const { status, text } = await send(url, { method: "GET", headers: OPERATOR });
    return { status, body: stable(JSON.parse(text)) };
  };
  const root = (await read(`${world.adminUrl}/api/v1`)).body as { readonly pages: readonly string[] };
  const pages = root.pages.filter((path) => !path.endsWith("/stream"));
  for (const path of ["/healthz", "/readyz", "/api/v1", ...pages, "/api/v1/nothing"]) {
    const name = path.replace("/api/v1/", "").replaceAll("/", "-").replace(/^-/, "");
    const page = await read(`${world.adminUrl}${path}${QUERIES[name] ?? ""}`);
    await expect(`${JSON.stringify(page, null, 2)}\n`).toMatchFileSnapshot(`admin/${name}.json`);
  }
  const document = (await read(`${world.adminUrl}/api/v1/openapi.json`)).body as OpenApi;
  await expect(operationsOf(document)).toMatchFileSnapshot("admin/openapi.txt");
  for (const path of ["/healthz", "/readyz"]) {
    const page = await read(new URL(path, world.url).href);
    await expect(`${JSON.stringify(page, null, 2)}\n`).toMatchFileSnapshot(
      `admin/listener-${path.slice(1)}.json`,
    );
  }
});

interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** An operation a line. */
function operationsOf({ paths, ...more }: OpenApi): string {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => `${method} ${path} ${JSON.stringify(operation)}`),
  );
  return `${[JSON.stringify(more), ...operations].join("\n")}\n`;
}

test("metrics have these names, types, texts and labels", async () => {
  const world = await openWorld();
  await makeCalls(world);
  for (const method of METHODS) await send(world.url, modernRequest(method, {}, { headers: ADA }));
  const { text } = await send(`${world.adminUrl}/metrics`, { method: "GET", headers: OPERATOR });
  await expect(withoutValues(text)).toMatchFileSnapshot("metrics.txt");
});

/** Requests of all revisions and extensions, and one of none. */
const METHODS = [
  ...["ping", "initialize", "server/discover", "logging/setLevel", "completion/complete"],
  ...["tools/list", "tools/call", "prompts/list", "prompts/get"],
  ...["resources/list", "resources/read", "resources/templates/list", "resources/subscribe"],
  ...["resources/unsubscribe", "resources/directory/read", "skills/list", "skills/get"],
  ...["tasks/get", "tasks/list", "tasks/result", "tasks/update", "tasks/cancel"],
  ...["subscriptions/listen", "x-vendor/method"],
];

/** A scrape without values: of the gateway's own metrics (others depend on Node); buckets are one line. */
function withoutValues(scrape: string): string {
  const lines = scrape.split("\n").flatMap((line) => {
    if (!/^(?:# (?:HELP|TYPE) )?(?:cardea|mcp)_/.test(line)) return [];
    if (line.startsWith("#")) return [line];
    // Whether a message comes late depends on the machine.
    if (line.startsWith("cardea_upstream_strays_total")) return [];
    const series = line.replace(/ \S+$/, "").replace(/(?<=[{,])(version|node)="[^"]*"/g, '$1="…"');
    return [series.replace(/(?<=[{,])le="[^"]*"/, 'le="…"')];
  });
  return `${[...new Set(lines)].join("\n")}\n`;
}
