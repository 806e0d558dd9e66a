/** The examples at the end of `cardea COMMAND --help`, keyed by command. */
export const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  init: [
    "cardea init                                    # from the hosts that are installed here",
    "cardea init --from ~/.cursor/mcp.json --out team.jsonc",
  ],
  add: [
    "cardea add memory -- npx -y @modelcontextprotocol/server-memory",
    "cardea add db --env DATABASE_URL=postgres://localhost/mine -- npx -y some-db-server",
    "cardea add sentry https://mcp.sentry.dev/mcp --header 'Authorization: Bearer TOKEN'",
    "cardea add server.json --env API_KEY=…         # a registry's entry: file, URL or name",
  ],
  remove: ["cardea remove memory"],
  install: [
    "cardea install claude-desktop --dry-run        # show what would change",
    "cardea install codex",
    "cardea install codex --undo                    # take it back",
    "cardea install cursor --url https://mcp.example.com/mcp --header 'Authorization: Bearer KEY'",
  ],
  serve: [
    "cardea serve --config cardea.jsonc",
    "cardea serve --port 9000 --admin-port 0        # a free port for the admin page",
    "cardea serve --host 0.0.0.0                    # needs auth in the config",
    "cardea -- npx -y @modelcontextprotocol/server-memory    # one server, without a config",
  ],
  stdio: [
    "cardea stdio --config /home/me/cardea.jsonc",
    "claude mcp add tools -- npx cardea stdio --config /home/me/cardea.jsonc",
  ],
  connect: [
    "cardea connect https://mcp.example.com/mcp",
    "cardea connect https://mcp.example.com/mcp --header 'Authorization: Bearer TOKEN'",
    "CARDEA_HEADER='Authorization: Bearer TOKEN' cardea connect https://mcp.example.com/mcp   # hidden from ps",
  ],
  check: [
    "cardea check",
    "cardea check --config cardea.jsonc --json",
    "cardea check && systemctl reload cardea",
  ],
  doctor: ["cardea doctor", "cardea doctor --json | jq '.servers[] | select(.ok | not)'"],
  status: ["cardea status --watch", "cardea status --json | jq '.servers[] | select(.state != \"ready\")'"],
  tail: [
    "cardea tail --outcome tool_error",
    "cardea tail --server git --json",
    "cardea tail --url https://gateway.example.com:8081 --token TOKEN",
  ],
  top: ["cardea top"],
  list: [
    "cardea list",
    "cardea list tools --json",
    "cardea list tools --as ci                      # what the principal ci is shown",
  ],
  call: [
    "cardea call memory__read_graph",
    "cardea call files__read_text_file path=README.md head:=10",
    'cardea call files__read_text_file \'{"path": "README.md"}\' --json',
  ],
  explain: [
    "cardea explain files__write_file path=/etc/passwd",
    "cardea explain db__query env=prod --as ci --groups robots",
    "cardea explain --after files__read_text_file web__fetch mail__send",
  ],
  import: [
    "cardea import ~/.claude.json > cardea.jsonc",
    "cardea import .vscode/mcp.json",
    "curl -s https://example.com/server.json | cardea import -",
  ],
  schema: ["cardea schema > cardea.schema.json"],
  key: [
    "cardea key --add --id ci --groups robots --expires 90d",
    "cardea key --id alice                          # prints the entry instead of writing it",
    "cardea key list",
    "cardea key revoke ci",
  ],
  "key list": ["cardea key list", "cardea key list --json"],
  "key revoke": ["cardea key revoke ci", "cardea key revoke ci --config cardea.jsonc"],
  completion: [
    "echo 'eval \"$(cardea completion bash)\"' >> ~/.bashrc",
    "echo 'source <(cardea completion zsh)' >> ~/.zshrc     # after compinit",
    "cardea completion fish > ~/.config/fish/completions/cardea.fish",
  ],
};
