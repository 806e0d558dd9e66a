/** Which documents are read, where their parts may be, and where their API is. */
import { spawnSync } from "node:child_process";
import { linkSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { documentOf, folderWith, startApi } from "../../support/api.js";
import { openApi } from "./open-api.js";

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
      "/good.json": { ...main("parts/a.json"), servers: [] },
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

describe("what a reference to another file may lead to", () => {
  const SECRET = "s3cret-of-the-config";
  const schema = (ref: string) =>
    documentOf({
      "/a": {
        post: {
          operationId: "a",
          requestBody: { content: { "application/json": { schema: { $ref: ref } } } },
        },
      },
    });
  const toolsOf = async (files: Record<string, string | object>, more: object = {}) => {
    const folder = folderWith(files);
    const { tools } = await openApi(
      {},
      { document: { file: join(folder, "api.json"), digest: "", ...more } },
    );
    return JSON.stringify(await tools());
  };

  test.each([
    ["a file with variables", "./.env", { ".env": `TOKEN=${SECRET}` }, "hidden"],
    ["a hidden file that is JSON", ".mcp.json#/a", { ".mcp.json": { a: { title: SECRET } } }, "hidden"],
    ["a file in a hidden folder", ".git/a.json", { ".git/a.json": { title: SECRET } }, "hidden"],
    ["a hidden file, encoded", "%2eenv.json", { ".env.json": { title: SECRET } }, "hidden"],
    ["a text", "a.txt", { "a.txt": `description: ${SECRET}` }, ".json, .yaml and .yml"],
    [
      "a config",
      "c.json#/mcpServers",
      { "c.json": { mcpServers: { x: { key: SECRET } } } },
      "no schema object",
    ],
    ["the whole of a config", "c.json", { "c.json": { mcpServers: { x: {} } } }, "no schema object"],
    ["variables of a server", "c.json#/env", { "c.json": { env: { TOKEN: SECRET } } }, "no schema object"],
    ["a text in JSON", "c.json#/key", { "c.json": { key: SECRET } }, "no schema object"],
    ["a list", "c.json#/args", { "c.json": { args: [SECRET] } }, "no schema object"],
    [
      "something beside a schema",
      "c.json",
      { "c.json": { type: "object", items: { key: SECRET } } },
      "no schema",
    ],
    ["a title alone", "c.json#/a", { "c.json": { a: { title: SECRET } } }, "no schema object"],
    [
      "headers that look like extensions",
      "c.json#/h",
      { "c.json": { h: { "x-key": SECRET } } },
      "no schema object",
    ],
    [
      "an object where a list of schemas is",
      "c.json",
      { "c.json": { allOf: { a: SECRET } } },
      "no schema object",
    ],
    [
      "a list where schemas by name are",
      "c.json",
      { "c.json": { properties: [SECRET] } },
      "no schema object",
    ],
    ["a file of another host", "//host/a.json", {}, "in its own folder"],
    ["a file by encoded slashes", "..%2f..%2fetc%2fa.json", {}, "in its own folder"],
    ["a file of another scheme", "http://localhost/a.json", {}, "in its own folder"],
    ["a file with a NUL in its name", "a%00.json", {}, "cannot be read"],
    ["a hidden file by a way through a folder", "sub/../.a.json", { ".a.json": { type: SECRET } }, "hidden"],
    ["a file that is no object", "c.json", { "c.json": [SECRET] }, "no object"],
    ["a file that is neither", "c.yaml", { "c.yaml": `{ "key": "${SECRET}", ` }, "neither JSON nor YAML"],
  ])("is not %s", async (_, ref, files, sentence) => {
    const error = await toolsOf({ "api.json": schema(ref), ...files }).catch((one: unknown) => one);
    expect(String(error)).toContain(sentence);
    expect(String(error)).not.toContain(SECRET);
  });

  test.each([
    "#/x-cardea-files/c/mcpServers",
    "#/x-cardea-files",
    "#/x%2Dcardea-files/c",
    "#",
    "#/mcpServers",
  ])("is not what else is in a file of which a part was read: %s", async (second) => {
    const of = (ref: string, name: string) => ({
      post: {
        operationId: name,
        requestBody: { content: { "application/json": { schema: { $ref: ref } } } },
      },
    });
    const tools = await toolsOf({
      "api.json": documentOf({ "/a": of("c.json#/good", "a"), "/b": of(second, "b") }),
      "c.json": { good: { type: "string", title: "Good" }, mcpServers: { x: { key: SECRET } } },
    });
    expect(tools).toContain("Good");
    expect(tools).not.toContain(SECRET);
  });

  test("may be a link where the document is one to the same folder, as in a Kubernetes ConfigMap", async () => {
    const folder = folderWith({
      "..2026/api.json": schema("pet.json"),
      "..2026/pet.json": { type: "object", title: "Pet" },
    });
    symlinkSync("..2026", join(folder, "..data"));
    for (const name of ["api.json", "pet.json"]) symlinkSync(join("..data", name), join(folder, name));
    const { tools } = await openApi({}, file(folder));
    expect(JSON.stringify(await tools())).toContain('"title":"Pet"');
  });

  test("is no file that the config came from, under any name", async () => {
    const config = { openapi: "3.1.0", components: { schemas: { A: { title: SECRET } } } };
    const ref = "#/components/schemas/A";
    const folder = folderWith({ "cardea.json": config, "api.json": schema(`cardea.json${ref}`) });
    linkSync(join(folder, "cardea.json"), join(folder, "other.json"));
    writeFileSync(join(folder, "hard.json"), JSON.stringify(schema(`other.json${ref}`)));
    for (const name of ["api.json", "hard.json"]) {
      const document = { file: join(folder, name), digest: "", configFiles: [join(folder, "cardea.json")] };
      await expect(openApi({}, { document })).rejects.toThrow("files of the config are never a part");
    }
  });

  test("is no pipe, which would never be read to its end", async () => {
    const folder = folderWith({ "api.json": schema("pipe.json") });
    spawnSync("mkfifo", [join(folder, "pipe.json")]);
    await expect(namesOf(file(folder))).rejects.toThrow("which is no file");
  });

  test("is a part of OpenAPI, by itself, among others or in a document", async () => {
    const tools = await toolsOf({
      "api.json": documentOf({
        "/a": {
          post: {
            operationId: "a",
            parameters: [{ $ref: "parts.yaml#/parameters/Limit" }],
            requestBody: { content: { "application/json": { schema: { $ref: "schemas/pet.yaml" } } } },
          },
        },
      }),
      "parts.yaml":
        "parameters: {Limit: {name: limit, in: query, schema: {$ref: '#/Number'}}}\nNumber: {type: integer, x-unit: pets}\n",
      "schemas/pet.yaml":
        "type: object\nproperties:\n  owner: {$ref: '../whole.json#/components/schemas/Owner'}\n  twin: {$ref: '#'}\n",
      "whole.json": { openapi: "3.1.0", components: { schemas: { Owner: { title: "An owner", odd: 1 } } } },
    });
    for (const found of ["integer", "An owner", "#/$defs/pet"]) expect(tools).toContain(found);
  });

  test("matters only where OpenAPI has references: elsewhere it is data, and no file is read", async () => {
    const ref = { $ref: "../../etc/passwd" };
    const data = {
      ...{
        example: ref,
        default: ref,
        enum: [ref],
        const: ref,
        "x-more": ref,
        description: "see $ref: ./x.json",
      },
      examples: [ref],
    };
    const schemaOf = { type: "object", properties: { a: data, $ref: { type: "string" } } };
    const tools = await toolsOf({
      "api.json": documentOf(
        {
          "/a": {
            post: {
              operationId: "a",
              requestBody: {
                content: { "application/json": { schema: schemaOf, example: ref, examples: { e: ref } } },
              },
              responses: { 200: { description: "ok", links: { l: ref }, headers: { h: ref } } },
              "x-code": ref,
              callbacks: { c: ref },
            },
          },
        },
        { "x-other": ref, tags: [ref], webhooks: { w: ref } },
      ),
    });
    expect(tools).toContain('"default":{"$ref":"../../etc/passwd"}');
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

  const AUTHORIZATION = { authorization: "Bearer t" };

  test.each([
    ["the own network", "http://10.0.0.1/", {}],
    ["a name of the own network", "http://vault.internal/", {}],
    ["a name of a cluster", "https://kubernetes.default.svc/", {}],
    ["a name of a cluster with a dot at its end", "https://kubernetes.default.svc.cluster.local./", {}],
    ["this machine by name", "http://localhost:1/", {}],
    ["this machine as one number", "http://2130706433/", {}],
    ["this machine in octal", "http://0177.0.0.1/", {}],
    ["this machine in hexadecimal", "http://0x7f.1/", {}],
    ["this machine as IPv6", "http://[::1]/", {}],
    ["this machine as IPv4 in IPv6", "http://[::ffff:127.0.0.1]/", {}],
    ["metadata of a cloud", "http://169.254.169.254/", {}],
    ["an address in full-width digits", "http://１２７.0.0.1/", {}],
    ["another host, with credentials", "https://api.example.com/", AUTHORIZATION],
    ["another port, with credentials", "http://127.0.0.1:9/", AUTHORIZATION],
    ["another name of the host, with credentials", "http://localhost/", AUTHORIZATION],
    ["an address with credentials of its own", "http://a:b@api.example.com/", {}],
  ])("may not be at %s if the document was fetched", async (_, url, headers) => {
    const api = await startApi(() => ({ body: JSON.stringify(documentOf(PATHS, { servers: [{ url }] })) }));
    const opening = namesOf({ document: { url: `${api.url}/openapi.json` }, headers });
    const shown = new URL(url);
    shown.username = "";
    shown.password = "";
    await expect(opening).rejects.toThrow(`"baseUrl": "${shown.href}"`);
  });

  test("of a document on the disk needs a base URL in the config where there are credentials", async () => {
    const document = documentOf(PATHS, { servers: [{ url: "https://api.example.com/v1" }] });
    await expect(openApi(document, { headers: AUTHORIZATION })).rejects.toThrow(
      'puts the API at https://api.example.com, and the config has credentials; if that is right, write "baseUrl": "https://api.example.com/v1"',
    );
    await expect(openApi(document)).resolves.toBeDefined();
  });

  test("gets the credentials of the config where the document was fetched from its origin", async () => {
    const body = JSON.stringify(documentOf(PATHS, { servers: [{ url: "/v1" }] }));
    const api = await startApi(() => ({ body }));
    const { call } = await openApi({}, { document: { url: `${api.url}/o.json` }, headers: AUTHORIZATION });
    await call("a");
    expect(api.asked.map(({ url, headers }) => [url, headers.authorization])).toEqual([
      ["/o.json", "Bearer t"],
      ["/v1/a", "Bearer t"],
    ]);
  });

  test("is not where a path or an operation says", async () => {
    const elsewhere = await startApi();
    const servers = [{ url: elsewhere.url }];
    const paths = {
      "/a": { get: { operationId: "a", servers, ...ok } },
      "/b": { servers, get: { operationId: "b", ...ok } },
    };
    const api = await startApi();
    const { call } = await openApi(documentOf(paths), { baseUrl: api.url, headers: AUTHORIZATION });
    await call("a");
    await call("b");
    expect(elsewhere.asked).toEqual([]);
    expect(api.asked.map(({ url }) => url)).toEqual(["/a", "/b"]);
  });
});
