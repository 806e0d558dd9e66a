/** Who may read and write JSON without `wire/json-text.ts`, which keeps every number as it was written. */
import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { inRepository } from "../support/cardea.js";
import { filesOf } from "./imports.js";

/** Files and folders whose JSON is no peer's, or has no numbers to lose. */
const ALLOWED: ReadonlyMap<string, string> = new Map([
  [
    "wire/json-text.ts",
    "is the one that keeps numbers; it reads strings one by one, and its canonical text writes numbers that are not exact ones",
  ],
  ["wire/json.ts", "writes what it has looked at, one by one"],
  ["upstream/transport/pid-file-registry.ts", "reads and writes files of the gateway's own"],
  ["features/openapi/parse-document.ts", "reads OpenAPI documents, which are posted between threads"],
  ["downstream/http-routes.ts", "writes pages of the gateway's own"],
  ["downstream/legacy/http-edge.ts", "quotes a header in a message"],
  ["telemetry/", "writes the log, which is for people, and the labels of metrics"],
  ["gateway/given-secrets.ts", "looks for secrets in values of the config that are JSON"],
  ["config/", "quotes names in messages; the file itself is read by parsers with places"],
  ["features/audit/cli/", "the same as cli/, for the commands of the audit log"],
  ["cli/", "writes reports of the gateway's own; what servers say goes by writeJson"],
  ["features/workers/", "reads those pages again"],
  ["features/authorization-server/", "reads and writes documents of OAuth, which have small numbers only"],
  ["features/sign-in/cli/", "the same as cli/, for the commands of sign-ins"],
  ["features/sign-in/config/", "the same as config/"],
  ["features/sign-in/renewals.ts", "talks to a process of the gateway's own"],
  ["features/sign-in/renewal-process.ts", "is that process"],
  ["features/admin/console-files.ts", "reads a list of file names that the build wrote"],
  ["console/", "is the page in the browser, which has no other JSON"],
  ["features/cluster/", "reads and writes what replicas say of themselves"],
  ["features/packages/npm-registry.ts", "reads what npm writes about versions"],
  ["features/packages/npx-folder.ts", "reads files of npm"],
  ["features/person-page/host-lines.ts", "writes entries of config files of hosts"],
  ["features/vault/", "reads and writes records of the gateway's own"],
]);

const USES = /\bJSON\.(?:parse|stringify)\b/;
const isAllowed = (file: string): boolean => [...ALLOWED.keys()].some((path) => file.startsWith(path));
/** The text without its comments. */
const codeOf = (text: string): string => text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/\/\/.*$/gm, "");

test("no other file on the path of a message uses JSON.parse or JSON.stringify", () => {
  const users = filesOf("src").filter(({ file, text }) => USES.test(codeOf(text)) && !isAllowed(file));
  expect(users.map(({ file }) => file)).toEqual([]);
});

test("every file of the exceptions uses JSON.parse or JSON.stringify", () => {
  const users = filesOf("src").filter(({ text }) => USES.test(codeOf(text)));
  const unused = [...ALLOWED.keys()]
    // A build may be without a feature, and without the console that shows its rows.
    .filter((path) => !/^(?:features|console)\//.test(path) || existsSync(inRepository(`src/${path}`)))
    .filter((path) => !users.some(({ file }) => file.startsWith(path)));
  expect(unused).toEqual([]);
});
