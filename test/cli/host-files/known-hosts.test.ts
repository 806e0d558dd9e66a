import { describe, expect, test } from "vitest";
import { KNOWN_HOSTS, knownHost } from "../../../src/cli/host-files/known-hosts.js";

const WINDOWS = {
  platform: "win32",
  home: "C:\\Users\\me",
  env: { APPDATA: "C:\\Users\\me\\AppData\\Roaming", LOCALAPPDATA: "C:\\Users\\me\\AppData\\Local" },
} as const;
const MAC = { platform: "darwin", home: "/Users/me", env: {} } as const;
const LINUX = { platform: "linux", home: "/home/me", env: {} } as const;

describe("the files of hosts", () => {
  test.each([
    ["claude-code", "C:\\Users\\me\\.claude.json", "/Users/me/.claude.json", "/home/me/.claude.json"],
    [
      "claude-desktop",
      "C:\\Users\\me\\AppData\\Roaming\\Claude\\claude_desktop_config.json",
      "/Users/me/Library/Application Support/Claude/claude_desktop_config.json",
      "/home/me/.config/Claude/claude_desktop_config.json",
    ],
    [
      "vscode",
      "C:\\Users\\me\\AppData\\Roaming\\Code\\User\\mcp.json",
      "/Users/me/Library/Application Support/Code/User/mcp.json",
      "/home/me/.config/Code/User/mcp.json",
    ],
    ["cursor", "C:\\Users\\me\\.cursor\\mcp.json", "/Users/me/.cursor/mcp.json", "/home/me/.cursor/mcp.json"],
    [
      "windsurf",
      "C:\\Users\\me\\.codeium\\windsurf\\mcp_config.json",
      "/Users/me/.codeium/windsurf/mcp_config.json",
      "/home/me/.codeium/windsurf/mcp_config.json",
    ],
    [
      "zed",
      "C:\\Users\\me\\AppData\\Roaming\\Zed\\settings.json",
      "/Users/me/.config/zed/settings.json",
      "/home/me/.config/zed/settings.json",
    ],
    [
      "gemini",
      "C:\\Users\\me\\.gemini\\settings.json",
      "/Users/me/.gemini/settings.json",
      "/home/me/.gemini/settings.json",
    ],
    [
      "codex",
      "C:\\Users\\me\\.codex\\config.toml",
      "/Users/me/.codex/config.toml",
      "/home/me/.codex/config.toml",
    ],
    [
      "opencode",
      "C:\\Users\\me\\.config\\opencode\\opencode.json",
      "/Users/me/.config/opencode/opencode.json",
      "/home/me/.config/opencode/opencode.json",
    ],
  ])("%s on Windows, macOS and Linux", (id, windows, mac, linux) => {
    const files = [WINDOWS, MAC, LINUX].map((places) => knownHost(id)?.files(places)[0]);
    expect(files).toEqual([windows, mac, linux]);
  });

  test("are of nine hosts", () => {
    expect(KNOWN_HOSTS.map(({ id }) => id)).toHaveLength(9);
  });

  test("include the Microsoft Store location of Claude Desktop", () => {
    expect(knownHost("claude-desktop")?.files(WINDOWS)[1]).toMatch(
      /Local\\Packages\\Claude_.*\\claude_desktop_config\.json$/,
    );
  });
});
