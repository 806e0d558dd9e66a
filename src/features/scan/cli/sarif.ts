/** The findings as SARIF 2.1.0 (OASIS), for code scanning. */
import { isAbsolute } from "node:path";
import { pathToFileURL } from "node:url";
import type { JsonObject } from "../../../wire/json.js";
import type { ScanReport } from "../admin.js";
import { type Finding, RULES, RULES_PAGE, type RuleId, type Severity } from "../finding.js";

const SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
const LEVELS: Readonly<Record<Severity, string>> = { low: "note", medium: "warning", high: "error" };

/** One run. @param artifact the file that is named as the place of each finding, with `/` between folders @param version of the tool */
export function sarifOf(
  { findings }: Pick<ScanReport, "findings">,
  artifact: string,
  version: string,
): JsonObject {
  const ids = Object.keys(RULES) as RuleId[];
  return {
    $schema: SCHEMA,
    version: "2.1.0",
    runs: [
      {
        tool: {
          driver: {
            ...{ name: "cardea", version },
            rules: ids.map((id) => ({
              id,
              shortDescription: { text: RULES[id] },
              help: { text: `${RULES_PAGE}#${id} of cardea` },
            })),
          },
        },
        columnKind: "utf16CodeUnits",
        results: findings.map((finding) => resultOf(finding, ids.indexOf(finding.rule), artifact)),
      },
    ],
  };
}

function resultOf(finding: Finding, ruleIndex: number, artifact: string): JsonObject {
  const { rule, severity, message, server, kind, name, pointer, excerpt } = finding;
  const item = kind === "server" ? `server ${server}` : `${server}: ${name}`;
  return {
    ...{ ruleId: rule, ruleIndex, level: LEVELS[severity] },
    message: { text: `${item}${pointer}: ${message}: ${excerpt}` },
    locations: [
      {
        physicalLocation: { artifactLocation: { uri: uriOf(artifact) }, region: { startLine: 1 } },
        logicalLocations: [
          { name, kind: "member", fullyQualifiedName: `${server}/${kind}/${name}${pointer}` },
        ],
      },
    ],
    partialFingerprints: { "definition/v1": `${rule} ${server} ${kind} ${name} ${pointer}` },
    properties: { severity },
  };
}

/** A relative reference (RFC 3986); a URL for an absolute path. */
const uriOf = (path: string): string =>
  isAbsolute(path) ? pathToFileURL(path).href : path.split(/[/\\]/).map(encodeURIComponent).join("/");
