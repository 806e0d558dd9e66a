/** Which documents are read, where their parts may be, and where their API is. */
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { documentOf, folderWith, openApi, startApi } from "../../support/api.js";

const ok = { responses: { 200: { description: "ok" } } };
const PATHS = { "/a": { get: { operationId: "a", ...ok } } };
const file = (folder: string, name = "api.json") => ({ document: { file: join(folder, name), digest: "" } });
const namesOf = async (settings: object) => {
  const { tools } = await openApi({}, settings);
  return (await tools()).map(({ name }) => name);
};

describe("a document", () => {
  test("may be YAML", async () => {
    const yaml =
      "openapi: 3.0.0\ninfo: {}\nservers: [{url: 'http://127.0.0.1:9'}]\npaths:\n  /a:\n    get: {responses: {200: {description: ok}}}\n";
    expect(await namesOf(file(folderWith({ "api.yml": yaml }), "api.yml"))).toEqual(["get_a"]);
  });

  test.each([
    ["Swagger 2.0", { swagger: "2.0" }, "Swagger 2.0; convert it"],
    ["OpenAPI 4", { openapi: "4.0.0" }, "OpenAPI 4.0.0"],
    ["something else", { hello: 1 }, "is no OpenAPI document"],
    ["a list", [], "is no object"],
    ["neither JSON nor YAML", "{ no", "neither JSON nor YAML (api.json)"],
  ])("of %s is refused with advice", async (_, document, sentence) => {
    await expect(openApi(document)).rejects.toMatchObject({
      code: "upstream_unavailable",
      message: expect.stringContaining(`api has a document`),
    });
    await expect(openApi(document)).rejects.toThrow(sentence);
  });

  test("that is missing is named", async () => {
    await expect(namesOf(file("/nowhere"))).rejects.toThrow("cannot be read: /nowhere/api.json (ENOENT)");
  });
});

describe("references to other files", () => {
  const main = (ref: string) => documentOf({ "/a": { $ref: ref } });

  test("are read from the document's folder", async () => {
    const folder = folderWith({
      "api.json": main("paths/a.yaml"),
      "paths/a.yaml":
        "post:\n  operationId: a\n  requestBody: {content: {application/json: {schema: {$ref: '../schemas.yaml#/Pet'}}}}\n  responses: {}\n",
      "schemas.yaml": "Pet: {type: object, properties: {mother: {$ref: '#/Pet'}}}\n",
    });
    const { tools } = await openApi({}, file(folder));
    const [tool] = await tools();
    expect(tool?.name).toBe("a");
    expect(JSON.stringify(tool?.inputSchema)).toContain('"mother"');
  });

  test.each([
    "../outside.json",
    "/etc/hostname",
    "file:///etc/hostname",
    "http://127.0.0.1:9/a.json",
    "link.json",
  ])("are refused elsewhere: %s", async (ref) => {
    const folder = folderWith({ "api/api.json": main(ref), "outside.json": { get: ok } });
    symlinkSync(join(folder, "outside.json"), join(folder, "api/link.json"));
    await expect(namesOf(file(folder, "api/api.json"))).rejects.toThrow("refers to files in its own folder");
  });

  test("of a fetched document are read from its own origin only", async () => {
    const elsewhere = await startApi();
    const answers: Record<string, object> = {
      "/good.json": main("parts/a.json"),
      "/parts/a.json": { get: { operationId: "fetched", ...ok } },
      "/host.json": main(`${elsewhere.url}/a.json`),
      "/disk.json": main("file:///etc/hostname"),
    };
    const api = await startApi(({ url }) => ({ body: JSON.stringify(answers[url]) }));
    expect(await namesOf({ document: { url: `${api.url}/good.json` } })).toEqual(["fetched"]);
    for (const name of ["host", "disk"]) {
      await expect(namesOf({ document: { url: `${api.url}/${name}.json` } })).rejects.toThrow(
        "refers to files at its own origin",
      );
    }
    expect(elsewhere.asked).toEqual([]);
  });
});

describe("a document at a URL", () => {
  test("is fetched with the headers of the config, unless the API is at another origin", async () => {
    const api = await startApi(() => ({ body: JSON.stringify(documentOf(PATHS, { servers: [] })) }));
    const settings = { document: { url: `${api.url}/openapi.json` }, headers: { authorization: "Bearer t" } };
    expect(await namesOf(settings)).toEqual(["a"]);
    expect(await namesOf({ ...settings, baseUrl: "https://api.example.com" })).toEqual(["a"]);
    expect(api.asked.map(({ headers }) => headers.authorization)).toEqual(["Bearer t", undefined]);
  });

  test("follows no redirect", async () => {
    const api = await startApi(() => ({ status: 302, headers: { location: "http://169.254.169.254/" } }));
    await expect(namesOf({ document: { url: `${api.url}/openapi.json` } })).rejects.toThrow(
      "HTTP status 302, to http://169.254.169.254/; write that address in the config",
    );
  });
});

describe("the API", () => {
  const called = async (servers: unknown, base = "/docs/openapi.json") => {
    const api = await startApi(({ url }) => ({
      body: url === base ? JSON.stringify(documentOf(PATHS, { servers })) : "",
    }));
    const { call } = await openApi({}, { document: { url: `${api.url}${base}` } });
    await call("a");
    return api.asked[1]?.url;
  };

  test.each([
    ["at a path", [{ url: "/v1/" }], "/v1/a"],
    ["relative to the document", [{ url: "../v2" }], "/v2/a"],
    ["at a server with variables", [{ url: "/{v}", variables: { v: { default: "v3" } } }], "/v3/a"],
    ["at the root without servers", undefined, "/a"],
  ])("is %s", async (_, servers, expected) => {
    expect(await called(servers)).toBe(expected);
  });

  test("needs a base URL in the config if the file names no host", async () => {
    const document = documentOf(PATHS, { servers: [{ url: "/v1" }] });
    await expect(openApi(document)).rejects.toThrow('write "baseUrl" in the config');
  });

  test.each([
    ["the own network", "http://10.0.0.1/", {}],
    ["a name of the own network", "http://vault.internal/", {}],
    ["another host, with credentials", "https://api.example.com/", { authorization: "Bearer t" }],
  ])("may not be at %s if the document was fetched", async (_, url, headers) => {
    const api = await startApi(() => ({ body: JSON.stringify(documentOf(PATHS, { servers: [{ url }] })) }));
    const opening = namesOf({ document: { url: `${api.url}/openapi.json` }, headers });
    await expect(opening).rejects.toThrow(`"baseUrl": "${url}"`);
  });
});
