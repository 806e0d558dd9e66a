/** Which package a start line fetches, and where its exact version goes. */
import { describe, expect, test } from "vitest";
import { packageStart, pinnedArgs } from "../../../src/features/packages/package-start.js";

describe("a start line, and the same with version 1.2.3", () => {
  test.each([
    ["npx -y pkg --flag", "pkg", "npx -y pkg@1.2.3 --flag"],
    ["npx --yes @a/pkg@latest x", "@a/pkg", "npx --yes @a/pkg@1.2.3 x"],
    ["npx --package=pkg@^1 -y run it", "pkg", "npx --package=pkg@1.2.3 -y run it"],
    ["npx -p @a/pkg -- run", "@a/pkg", "npx -p @a/pkg@1.2.3 -- run"],
    ["npx --registry http://127.0.0.1 pkg", "pkg", "npx --registry http://127.0.0.1 pkg@1.2.3"],
    ["npm exec -y -- pkg x", "pkg", "npm exec -y -- pkg@1.2.3 x"],
    ["bunx pkg", "pkg", "bunx pkg@1.2.3"],
    ["pnpm dlx @a/pkg", "@a/pkg", "pnpm dlx @a/pkg@1.2.3"],
    ["cmd /c npx -y pkg", "pkg", "cmd /c npx -y pkg@1.2.3"],
    ["uvx mcp-x --y", "mcp-x", "uvx mcp-x@1.2.3 --y"],
    ["uvx --python 3.12 mcp-x@latest", "mcp-x", "uvx --python 3.12 mcp-x@1.2.3"],
    ["uvx --from mcp-x[cli]>=1 run", "mcp-x", "uvx --from mcp-x[cli]==1.2.3 run"],
    ["uv tool run --from=mcp-x run", "mcp-x", "uv tool run --from=mcp-x==1.2.3 run"],
    ["pipx run mcp-x", "mcp-x", "pipx run mcp-x==1.2.3"],
    ["pipx run --spec mcp-x==1.0 run", "mcp-x", "pipx run --spec mcp-x==1.2.3 run"],
    ["uvx mcp-x[cli]", "mcp-x", undefined],
  ])("%s", (line, name, exact) => {
    const [command = "", ...args] = line.split(" ");
    const start = packageStart(command, args);
    expect(start?.name).toBe(name);
    const pinned = start && pinnedArgs(args, start, "1.2.3");
    expect(pinned && [command, ...pinned].join(" ")).toBe(exact);
  });

  test.each([
    "node x.js",
    "npx ./local",
    "npx -y",
    "npx github:a/b",
    "npx http://127.0.0.1/x.tgz",
    "pnpm start",
    "uvx --from git+https://x.example/y y",
    "docker run x",
  ])("%s fetches no package of a registry", (line) => {
    const [command = "", ...args] = line.split(" ");
    expect(packageStart(command, args)).toBeUndefined();
  });
});
