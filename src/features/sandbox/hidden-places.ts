/** Files and folders with credentials, which no process in a sandbox sees. */
import { join } from "node:path";

/** Below the home folder: keys, tokens, password stores, histories of shells. */
const CREDENTIALS: readonly string[] = [
  ...[".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".config/gcloud", ".config/gh", ".config/op"],
  ...[".netrc", ".npmrc", ".yarnrc.yml", ".pypirc", ".git-credentials", ".config/git/credentials"],
  ...[".cargo/credentials.toml", ".gem/credentials", ".m2/settings.xml", ".terraform.d", ".vault-token"],
  ...[".password-store", ".local/share/keyrings", ".config/rclone", ".pgpass", ".my.cnf", ".boto"],
  ...[".bash_history", ".zsh_history", ".python_history", ".node_repl_history", ".local/share/fish"],
];

/** Below the home folder: what hosts keep of their own sign-ins, and other gateways of theirs. */
const HOSTS: readonly string[] = [
  ...[".claude.json", ".claude/.credentials.json", ".codex/auth.json", ".gemini", ".mcp-auth"],
  ...[".config/Claude", ".cursor", ".config/github-copilot", ".local/share/opencode"],
];

/** Below the home folder: cookies and passwords. */
const BROWSERS: Readonly<Record<"linux" | "darwin", readonly string[]>> = {
  linux: [
    ...[".mozilla", ".thunderbird", ".config/google-chrome", ".config/chromium", ".config/microsoft-edge"],
    ...[".config/BraveSoftware", ".config/vivaldi", ".config/opera", ".librewolf", ".var/app", "snap"],
  ],
  darwin: [
    ...["Keychains", "Cookies", "Safari", "Containers/com.apple.Safari", "Mail", "Messages"].map(
      (name) => `Library/${name}`,
    ),
    ...["Google/Chrome", "Firefox", "Chromium", "Microsoft Edge", "BraveSoftware", "Arc", "Claude"].map(
      (name) => `Library/Application Support/${name}`,
    ),
  ],
};

/** Their absolute paths; whether they are there is not known. */
export function hiddenPlaces(home: string, platform: NodeJS.Platform): readonly string[] {
  const browsers = platform === "darwin" ? BROWSERS.darwin : BROWSERS.linux;
  return [...CREDENTIALS, ...HOSTS, ...browsers].map((path) => join(home, path));
}

/** In a folder that may be written: what other programs run, or trust. It stays read-only. */
export const PROTECTED: readonly string[] = [
  ...[".git/hooks", ".git/config", ".vscode", ".idea", ".cursor", ".claude", ".mcp.json"],
  ...["cardea.jsonc", "cardea.json", "cardea.yaml", "cardea.yml", "cardea.lock"],
];
