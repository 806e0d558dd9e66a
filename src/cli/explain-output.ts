/** Explains why a server did not start, from common stderr output. */
import type { Diagnosis } from "./diagnose.js";

type Explain = (found: RegExpExecArray, text: string) => Diagnosis;

const packageMissing = (name: string | undefined): Diagnosis => ({
  cause: "package_not_found",
  sentence: name === undefined ? "its package was not found" : `package not found: ${name}`,
  advice: "is the name right, is that version published, and is the registry the right one?",
});

const variableMissing = (name: string | undefined): Diagnosis => ({
  cause: "needs_variable",
  sentence: `it needs the variable ${name}`,
  advice: `put it under env: "${name}": "\${${name}}"; a server gets nothing else of the gateway's environment`,
});

const fileMissing = (name: string | undefined): Diagnosis => ({
  cause: "file_not_found",
  sentence: `its args name a file that does not exist: ${name}`,
  advice: "fix the path in args; relative paths start at cwd",
});

/** A file that another file of the server loads. */
const partMissing = (name: string | undefined, text: string): Diagnosis => ({
  cause: "broken_install",
  sentence: `a file of the server itself is missing: ${name}`,
  advice: /[\\/]node_modules[\\/]/.test(text)
    ? "its package is broken or half installed: install it again or pin another version (npx keeps its copies in ~/.npm/_npx)"
    : "build or install the server again; is there a step such as npm run build?",
});

const unreachable = (text: string): Diagnosis =>
  /npm (?:error|ERR!)|registry|pypi|\/simple\/|Failed to fetch: `/i.test(text)
    ? {
        cause: "registry_unreachable",
        sentence: "the package registry cannot be reached",
        advice: "is there a network, and does it need a proxy? HTTPS_PROXY goes under env",
      }
    : {
        cause: "network_failed",
        sentence: "it cannot reach an address that it needs; see its output below",
        advice:
          "is there a network, is the address right, and does it need a proxy? HTTPS_PROXY goes under env",
      };

const moduleMissing = (name: string | undefined): Diagnosis => ({
  cause: "module_not_found",
  sentence: `a module that it needs is not installed: ${name}`,
  advice: "install the server's own dependencies",
});

/** An environment variable's name, as written in messages. */
const NAME = "[`'\"]?\\$?\\{?([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|[A-Z]{3,}(?:KEY|TOKEN|URL))\\}?[`'\"]?";
const MISSING_WORDS =
  "(?:missing|required|requires?|not (?:be )?(?:set|provided|defined|found|specified)|must (?:be )?(?:set|provide|specify)|please (?:set|provide|specify)|needs?|undefined|unset|empty)";

/** In this order: specific patterns before general ones. */
const KNOWN_MESSAGES: readonly (readonly [RegExp, Explain])[] = [
  [
    /npm (?:error|ERR!) (?:code (?:ENOTFOUND|EAI_AGAIN|ECONN\w+|ETIMEDOUT|ERR_SOCKET_TIMEOUT|E50\d|CERT_\w+|SELF_SIGNED\w+|UNABLE_TO_\w+)|network )|Failed to fetch: `|error sending request for url|Temporary failure in name resolution|Failed to establish a new connection|ConnectTimeoutError|Network is unreachable|\bgetaddrinfo (?:ENOTFOUND|EAI_AGAIN)|\bconnect (?:ECONNREFUSED|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH)/i,
    (_, text) => unreachable(text),
  ],
  [
    /404 Not Found - GET \S*?\/((?:@[^/\s]+(?:\/|%2f))?[^/\s]+?)(?: - .*)?$/im,
    ([, name]) => packageMissing(name?.replace(/%2f/i, "/")),
  ],
  [/No matching version found for (\S+?)\.?\s*$/im, ([, name]) => packageMissing(name)],
  [/\bcode E404\b|npm (?:error|ERR!) 404\b/i, () => packageMissing(undefined)],
  [/Because (\S+) was not found in the package registry/i, ([, name]) => packageMissing(name)],
  [/there is no version of (\S+)/i, ([, name]) => packageMissing(name)],
  [/No matching distribution found for (\S+)/i, ([, name]) => packageMissing(name)],
  [/No solution found when resolving/i, () => packageMissing(undefined)],
  [
    /could not determine executable to run/i,
    () => ({ ...packageMissing(undefined), sentence: "the package has no program to run" }),
  ],
  [/Cannot find package '([^']+)'/i, ([, name]) => moduleMissing(name)],
  [/Cannot find module '([^'./][^']*)'/i, ([, name]) => moduleMissing(name)],
  [
    /Cannot find module '([^']+)'(?: imported from|[\s\S]*?(?:^Require stack:\s*^- |requireStack: \[\s*'))/im,
    ([, name], text) => partMissing(name, text),
  ],
  [/Cannot find module '([^']+)'/i, ([, name]) => fileMissing(name)],
  [/can't open file '([^']+)'/i, ([, name]) => fileMissing(name)],
  [/No module named '?([\w.]+)'?/i, ([, name]) => moduleMissing(name)],
  [
    /Cannot connect to the Docker daemon|docker daemon is not running|error during connect:.*docker/i,
    () => ({ cause: "docker_not_running", sentence: "Docker is not running", advice: "start Docker" }),
  ],
  [/Unable to find image '([^']+)'|pull access denied for (\S+?),/i, ([, a, b]) => packageMissing(a ?? b)],
  [new RegExp(`${NAME}[^\\n]{0,60}\\b${MISSING_WORDS}\\b`), ([, name]) => variableMissing(name)],
  [new RegExp(`\\b${MISSING_WORDS}\\b[^\\n]{0,60}?${NAME}`, "i"), ([, name]) => variableMissing(name)],
  [
    new RegExp(`\\b(?:[Pp]ass|[Ee]xport|[Pp]rovide|[Uu]se)\\b[^\\n]{0,60}?${NAME}`),
    ([, name]) => variableMissing(name),
  ],
  [/KeyError: '([A-Z][A-Z0-9_]+)'/, ([, name]) => variableMissing(name)],
  [
    /^\s*usage: (.{1,200})$/im,
    ([, usage]) => ({
      cause: "needs_arguments",
      sentence: `it wants other arguments: ${usage?.trim()}`,
      advice: "put them into args, one by one",
    }),
  ],
];

/** `undefined` without a match. */
export function explainOutput(lines: readonly string[]): Diagnosis | undefined {
  const text = lines.join("\n");
  for (const [pattern, explain] of KNOWN_MESSAGES) {
    const found = pattern.exec(text);
    if (found !== null) return explain(found, text);
  }
  return undefined;
}
