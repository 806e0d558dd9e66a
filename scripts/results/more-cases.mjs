/** Tools of servers that `npm run results:page` installs, and questions about what the previews do not show. */
import { join } from "node:path";
import { declarations } from "./own-servers.mjs";
import { at, from, question, search } from "./steps.mjs";

export const MORE_CASES = [
  {
    tool: "files__read_text_file",
    kind: "source code",
    args: () => ({ path: join(declarations, "lib.dom.d.ts") }),
    questions: [
      question(
        "What does close() of HTMLDialogElement take?",
        [search("/^interface HTMLDialogElement /"), from("HTMLDialogElement", { limit: 50 })],
        /close\(returnValue\?: string\)/,
      ),
      question(
        "Which event does a WakeLockSentinel have?",
        [search("/^interface WakeLockSentinelEventMap/"), from("WakeLockSentinelEventMap", { limit: 5 })],
        /"release": Event/,
      ),
    ],
  },
  {
    tool: "files__list_directory_with_sizes",
    kind: "list, and the same as a structure",
    args: () => ({ path: declarations }),
    questions: [],
  },
  {
    tool: "git__git_log",
    kind: "commits, JSON",
    args: ({ repository }) => ({ path: repository, maxCount: 250, stat: true }),
    questions: [
      question("Which commit stopped the valve race?", [search("valve race")], /"shortHash":"46a7030"/),
      question(
        "Who reported it?",
        [search("valve race"), at("valve race", "/body")],
        /the plant in Quito, case 7781/,
      ),
    ],
  },
  {
    tool: "git__git_blame",
    kind: "lines with authors, JSON",
    args: ({ repository }) => ({ path: repository, filePath: "src/plant.js" }),
    questions: [question("Who wrote the guard?", [search("const guard")], /"author":"Tim"/)],
  },
  {
    tool: "history__git_log",
    kind: "commits, text",
    args: ({ repository }) => ({ repo_path: repository, max_count: 250 }),
    questions: [question("Which commit has the number 60?", [search("/ 60$/")], /^\d+: [0-9a-f]{40} \w+/m)],
  },
  {
    tool: "history__git_show",
    kind: "diff",
    args: ({ repository }) => ({ repo_path: repository, revision: "HEAD" }),
    questions: [
      question("What is the limit of the torque?", [search("torque")], /38\.5/),
      question(
        "What does lib/part-41.js begin with?",
        [search("b/lib/part-41.js"), from("diff --git", { limit: 12 })],
        /part41_0 = 0/,
      ),
    ],
  },
  {
    tool: "grep__search",
    kind: "matches of ripgrep",
    args: ({ tree }) => ({ path: tree, pattern: "export const", maxResults: 2_000 }),
    questions: [
      question("What is the size in the file with the number 702?", [search("-702.")], /size = 702/),
      question("How many of them are in washer/lima?", [search("washer/lima/")], /(?:of|"total":) ?8\b/),
    ],
  },
  {
    tool: "fetch__fetch_json",
    kind: "answer of an API, JSON",
    args: (_, { url }) => ({ url: `${url}/products.json` }),
    questions: [
      question("Why is a product called back?", [search("recall")], /the thread strips at 40 Nm/),
      question(
        "Which one?",
        [search("recall"), (text) => ({ path: /^(\/.*)\/recall/m.exec(text)?.[1] ?? "?" })],
        /P-1311/,
      ),
      question("How many of it are in Oslo?", [{ path: "/products/311/stock" }], /"city":"Oslo","count":\d/),
    ],
  },
  {
    tool: "fetch__fetch_html",
    kind: "page, HTML",
    args: (_, { url }) => ({ url: `${url}/handbook` }),
    questions: [
      question("Who signs for travel above 1,250 euros?", [search("1,250 euros")], /Frances Allen/),
      question("What do visitors wear?", [search("visitors")], /orange badges & closed shoes/),
    ],
  },
  {
    tool: "fetch__fetch_markdown",
    kind: "page, Markdown",
    args: (_, { url }) => ({ url: `${url}/handbook` }),
    questions: [question("What is the emergency number of Turku?", [search("emergency")], /0800-4471/)],
  },
  {
    tool: "pdf__read_pdf",
    kind: "PDF, 42 blocks",
    args: ({ pdf }) => ({ sources: [{ path: pdf }], include_full_text: true }),
    questions: [
      question("How long is the warranty of spindles?", [search("warranty of spindles")], /14 months/),
      question("What stands in 33.20?", [search("/^33\\.20 /")], /33\.20 The \w+/),
    ],
  },
  {
    tool: "duckdb__query_duckdb",
    kind: "rows of a database, JSON",
    args: ({ table }) => ({ sql: `select * from read_csv_auto('${table}')`, limit: 5_000 }),
    questions: [
      question("Which parcel goes to the blue door?", [search("blue door")], /A-41217/),
      question("What is the last row?", [{ path: "/data/1799" }], /A-41799/),
    ],
  },
  {
    tool: "desktop__list_directory",
    kind: "file tree, text",
    args: ({ tree }) => ({ path: tree, depth: 4 }),
    questions: [
      question("In which folder is calibration-2019.toml?", [search("calibration-2019")], /housing.graz/),
      question(
        "How many files are in washer/lima?",
        [search("/FILE. washer.lima./")],
        /(?:of|"total":) ?8\b/,
      ),
    ],
  },
  {
    tool: "desktop__start_process",
    kind: "output of a command",
    args: ({ repository }) => ({ command: `git -C ${repository} log --stat`, timeout_ms: 10_000 }),
    questions: [question("Which plant reported case 7781?", [search("7781")], /Quito/)],
  },
  {
    tool: "api__listOrders",
    kind: "operation of an OpenAPI document",
    args: () => ({}),
    questions: [
      question("Which parcel goes to the blue door?", [search("blue door")], /A-41217/),
      question("Which order is the 1,500th?", [{ path: "/orders", offset: 1_499, limit: 1 }], /A-41499/),
    ],
  },
  {
    tool: "browser__browser_snapshot",
    kind: "page in a browser, YAML",
    before: [["browser__browser_navigate", (_, { url }) => ({ url: `${url}/shop` })]],
    args: () => ({}),
    questions: [
      question(
        "Which reference has the button of A-40130?",
        [search("Open A-40130")],
        /"Open A-40130" \[ref=\w+\]/,
      ),
    ],
  },
  {
    tool: "browser__browser_console_messages",
    kind: "console of a browser",
    args: () => ({ level: "debug" }),
    questions: [question("What blocked the cookie banner?", [search("cookie banner")], /CSP-7/)],
  },
];
