/** The host programs of the npm registry: what each needs beside Cardea in its files, and how it runs one prompt without a person. */

const MODEL = "claude-sonnet-4-5";
const ANTHROPIC_OFFLINE = { ANTHROPIC_API_KEY: "x", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1" };

/**
 * `id`: as `cardea install` names it; `files`: what is in the home folder before that, by path; `run`: arguments and environment
 * for one prompt, with a model at `url`; `setUp`: the script of the package that puts its program in place; `waitBy`: how its model waits for servers that are still starting.
 */
export const PROGRAMS = [
  {
    id: "claude-code",
    package: "@anthropic-ai/claude-code@2.1.197",
    bin: "claude",
    setUp: "install.cjs",
    waitBy: { name: "WaitForMcpServers", args: {} },
    files: () => ({}),
    run: (prompt, url) => ({
      args: ["-p", prompt, "--allowedTools", "mcp__cardea"],
      env: { ...ANTHROPIC_OFFLINE, ANTHROPIC_BASE_URL: url },
    }),
  },
  {
    id: "codex",
    package: "@openai/codex@0.169.0",
    bin: "codex",
    waitBy: { name: "exec_command", args: { cmd: "sleep 2" } },
    files: (url) => ({
      ".codex/config.toml": `model_provider = "local"
approval_policy = "never"

[model_providers.local]
name = "local"
base_url = "${url}/v1"
wire_api = "responses"
`,
    }),
    run: (prompt) => ({ args: ["exec", "--skip-git-repo-check", "-m", "gpt-5", prompt], env: {} }),
  },
  {
    id: "gemini",
    package: "@google/gemini-cli@0.61.0",
    bin: "gemini",
    files: () => ({
      ".gemini/settings.json": JSON.stringify({ security: { auth: { selectedType: "gemini-api-key" } } }),
    }),
    run: (prompt, url) => ({
      args: ["--skip-trust", "-y", "-p", prompt],
      env: { GEMINI_API_KEY: "x", GOOGLE_GEMINI_BASE_URL: url },
    }),
  },
  {
    id: "opencode",
    package: "opencode-ai@1.18.33",
    bin: "opencode",
    setUp: "postinstall.mjs",
    files: (url) => ({
      ".config/opencode/opencode.json": JSON.stringify({
        autoupdate: false,
        permission: "allow",
        provider: { anthropic: { options: { baseURL: `${url}/v1`, apiKey: "x" } } },
      }),
    }),
    run: (prompt) => ({ args: ["run", "-m", `anthropic/${MODEL}`, prompt], env: {} }),
  },
];
