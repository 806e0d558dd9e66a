/** Tools of servers that are development dependencies, and questions about what the previews do not show. */
import { from, question, search } from "./steps.mjs";

export const OWN_CASES = [
  {
    tool: "files__directory_tree",
    kind: "file tree, JSON",
    args: ({ tree }) => ({ path: tree }),
    questions: [
      question(
        "In which folder is calibration-2019.toml?",
        [search("calibration-2019")],
        /\(housing\): \{"name":"graz"/,
      ),
      question(
        "What is beside valve-112.ts?",
        [search("valve-112.ts")],
        /\(valve\): \{"name":"oslo".*"valve-112\.ts"/,
      ),
    ],
  },
  {
    tool: "files__search_files",
    kind: "paths",
    args: ({ tree }) => ({ path: tree, pattern: "**/*.ts" }),
    questions: [
      question("Where is the file with the number 702?", [search("-702.")], /sensor.pune.bearing-702\.ts/),
      question("How many files are in housing/porto?", [search("housing/porto/")], /(?:of|"total":) ?8\b/),
    ],
  },
  {
    tool: "files__read_multiple_files",
    kind: "JSON files, joined",
    args: ({ settings }) => ({ paths: settings }),
    questions: [
      question(
        "Which service has a canary, and who owns it?",
        [search("canary"), from('"canary"', { before: 31, limit: 36 })],
        /"service": "spindle-22"[\s\S]*"owner": "radia"/,
      ),
      question(
        "How many replicas has gasket-19?",
        [search('"gasket-19"')],
        /"gasket-19"[\s\S]*"replicas": \d/,
      ),
    ],
  },
  {
    tool: "files__read_media_file",
    kind: "image",
    args: ({ image }) => ({ path: image }),
    questions: [],
  },
  {
    tool: "files__read_text_file",
    kind: "log",
    args: ({ log }) => ({ path: log }),
    questions: [
      question("Why did payments fail?", [search("/ERROR payments/")], /ECONNREFUSED 10\.4\.0\.17:5432/),
      question("What was done about it?", [{ offset: 3_171, limit: 3 }], /is retried in 30 s/),
      question("Who deployed 2026.48.2?", [search("2026.48.2")], /by radia/),
    ],
  },
  {
    tool: "files__read_text_file",
    kind: "CSV",
    args: ({ table }) => ({ path: table }),
    questions: [
      question("Which parcel goes to the blue door?", [search("blue door")], /A-41217/),
      question("What did A-40555 cost?", [search("A-40555")], /A-40555,[^\n]*,\d+\.\d+,/),
    ],
  },
  {
    tool: "memory__read_graph",
    kind: "knowledge graph, JSON",
    args: () => ({}),
    questions: [
      question("Who must not eat hazelnuts?", [search("hazelnut")], /Frances_388/),
      question("Who is mentored by whom?", [search("is mentored by")], /Edsger_233.*Alan_131|"to":"\w+_131"/),
    ],
  },
];
