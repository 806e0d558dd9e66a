/**
 * A server made of the official SDK with the extensions for pages (MCP Apps) and for skills (SEP-2640), in either era:
 * `node pages-and-skills.mjs NAME legacy|both` on a pipe, `… NAME legacy|modern|both http` at a URL that it says on stderr.
 */
import { createHash } from "node:crypto";
import {
  CLIENT_CAPABILITIES_META_KEY,
  fromJsonSchema,
  McpServer,
  ProtocolError,
} from "@modelcontextprotocol/server";
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import { serveHttp } from "../fixture/http.mjs";
import { createWorld } from "../fixture/world.mjs";

const [name = "pages", era = "both", transport = "stdio"] = process.argv.slice(2);
const UI = "io.modelcontextprotocol/ui";
const PAGE = `ui://${name}/board.html`;
const ROOT = `skill://${name}-report`;
const any = fromJsonSchema({ type: "object" });
const invalid = (message) => new ProtocolError(-32_602, message);

const frontmatter = { name: `${name}-report`, description: "Write the report of the day" };
const files = new Map([
  [
    `${ROOT}/SKILL.md`,
    `---\nname: ${frontmatter.name}\ndescription: ${frontmatter.description}\n---\n\nUse templates/day.md.\n`,
  ],
  [`${ROOT}/templates/day.md`, "# Today\n"],
]);
const skill = {
  uri: `${ROOT}/SKILL.md`,
  frontmatter,
  resources: [...files].map(([uri, text]) => ({
    uri,
    digest: `sha256:${createHash("sha256").update(text).digest("hex")}`,
    size: Buffer.byteLength(text),
  })),
};
const cached = { ttlMs: 60_000, cacheScope: "public" };
const folders = new Map([
  [ROOT, [{ uri: `${ROOT}/SKILL.md`, name: "SKILL.md" }, folder("templates")]],
  [`${ROOT}/templates`, [{ uri: `${ROOT}/templates/day.md`, name: "day.md" }]],
]);

function folder(path) {
  return { uri: `${ROOT}/${path}`, name: path, mimeType: "inode/directory" };
}

function build() {
  const mcp = new McpServer(
    { name, version: "1.0.0" },
    {
      capabilities: {
        resources: {},
        extensions: { [UI]: {}, "io.modelcontextprotocol/skills": { directoryRead: true } },
      },
    },
  );
  const declaredBy = (ctx) =>
    ctx.mcpReq.envelope?.[CLIENT_CAPABILITIES_META_KEY] ?? mcp.server.getClientCapabilities() ?? {};
  const inputSchema = fromJsonSchema({ type: "object", properties: {} });
  mcp.registerTool(
    "show",
    { description: "Shows the board", inputSchema, _meta: { ui: { resourceUri: PAGE } } },
    (_args, ctx) => ({
      content: [{ type: "text", text: JSON.stringify(declaredBy(ctx).extensions?.[UI] ?? null) }],
      _meta: { ui: { resourceUri: PAGE } },
    }),
  );
  // Every server of this kind has one, and an app calls it by this name.
  mcp.registerTool(
    "refresh",
    { description: "For the page", inputSchema, _meta: { ui: { visibility: ["app"] } } },
    () => ({ content: [{ type: "text", text: `refreshed by ${name}` }] }),
  );
  mcp.registerResource("board", PAGE, { mimeType: "text/html;profile=mcp-app" }, (uri) => ({
    contents: [{ uri: uri.href, mimeType: "text/html;profile=mcp-app", text: `<h1>${name}</h1>` }],
  }));
  for (const [uri, text] of files) {
    const [title, about] = uri === skill.uri ? [frontmatter.name, frontmatter.description] : [uri, "A file"];
    mcp.registerResource(title, uri, { mimeType: "text/markdown", description: about }, () => ({
      contents: [{ uri, mimeType: "text/markdown", text }],
    }));
  }
  mcp.server.setRequestHandler("skills/list", { params: any }, () => ({ skills: [skill], ...cached }));
  mcp.server.setRequestHandler("skills/get", { params: any }, ({ uri }) => {
    if (uri !== skill.uri) throw invalid(`there is no skill ${uri}`);
    return { skill, ...cached };
  });
  mcp.server.setRequestHandler("resources/directory/read", { params: any }, ({ uri }) => {
    const resources = folders.get(uri);
    if (resources === undefined) throw invalid(`${uri} is no folder`);
    return { resources };
  });
  return mcp;
}

if (transport === "http") {
  const server = await serveHttp({ world: createWorld(), era, port: 0, build });
  process.stdin.resume().once("end", () => process.exit(0));
  console.error(`ready http://127.0.0.1:${server.address().port}/mcp`);
} else if (era === "legacy") await build().connect(new StdioServerTransport());
else serveStdio(build);
