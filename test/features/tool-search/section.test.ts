/** Which tools hosts list, at the top level of the config and in profiles. */
import { describe, expect, test } from "vitest";
import { asInFile } from "../../../src/config/as-in-file.js";
import { formatProblem } from "../../../src/config/problem.js";
import { readConfig } from "../../../src/config/read.js";
import { exposureOf, exposureOfProfile, SECTIONS } from "../../../src/features/tool-search/section.js";

const read = (text: string) => readConfig(text, "cardea.json", { env: {}, sections: SECTIONS });
function configOf(text: string) {
  const outcome = read(text);
  if (!outcome.ok || outcome.problems.length > 0) throw new Error(outcome.problems.map(formatProblem).join());
  return outcome.config;
}
const SERVERS = `"mcpServers": { "git": { "command": "git-mcp" }, "db": { "command": "db-mcp" } }`;

describe("the top-level tools", () => {
  test("are listed in full by default, and the two names are free", () => {
    const { features, naming, profiles } = configOf(`{ ${SERVERS}, "profiles": { "p": {} } }`);
    expect(exposureOf(features)).toEqual({ exposure: "full", pinned: [], autoThreshold: 10_000 });
    expect(naming).not.toHaveProperty("own");
    expect(profiles.p?.features).toEqual({});
  });

  test("have pins by exposed names, and by own names of any server", () => {
    const { features, naming } = configOf(
      `{ ${SERVERS}, "tools": { "exposure": "auto", "pinned": ["git__log", "query"], "autoThreshold": 5 } }`,
    );
    const pinned = ["git__log", "{git__,db__}query"];
    expect(exposureOf(features)).toEqual({ exposure: "auto", pinned, autoThreshold: 5 });
    expect(naming.own).toEqual([{ names: ["find_tools", "call_tool"], setting: "tools.exposure" }]);
  });

  test.each([
    ['{ "tools": { "exposure": "some" } }', /tools\.exposure/],
    ['{ "tools": { "exposures": "full" } }', /unknown key "exposures"/],
    ['{ "tools": { "pinned": "a" } }', /tools\.pinned/],
    ['{ "tools": { "autoThreshold": -1 } }', /tools\.autoThreshold/],
    ['{ "tools": { "autoThreshold": "10k" } }', /tools\.autoThreshold/],
    ['{ "tools": ["a"] }', /tools/],
    ['{ "profiles": { "p": { "tools": { "exposure": "all" } } } }', /profiles\.p\.tools\.exposure/],
  ])("%s is refused, with its place", (text, message) => {
    const outcome = read(text);
    expect(outcome.problems.map(formatProblem)).toEqual([expect.stringMatching(message)]);
  });
});

test("a profile says otherwise in what it gives, beside its filters", () => {
  const { features, profiles, naming } =
    configOf(`{ ${SERVERS}, "tools": { "pinned": ["git__log"], "autoThreshold": 7 },
    "profiles": {
      "short": { "servers": ["git"], "tools": { "exposure": "search", "deny": ["push"] } },
      "pins": { "servers": ["db"], "tools": { "pinned": ["query"] } } } }`);
  const of = (name: string) => exposureOfProfile(profiles[name]?.features ?? {}, exposureOf(features));
  expect(profiles.short?.tools).toEqual({ allow: ["*"], deny: ["git__push"] });
  expect(of("short")).toEqual({ exposure: "search", pinned: ["git__log"], autoThreshold: 7 });
  expect(of("pins")).toEqual({ exposure: "full", pinned: ["db__query"], autoThreshold: 7 });
  expect(naming.own?.map(({ names }) => names)).toEqual([["find_tools", "call_tool"]]);
});

test("the config is shown with the keys of a profile where the file has them", () => {
  const config = configOf(
    `{ ${SERVERS}, "profiles": { "p": { "tools": { "exposure": "auto", "deny": ["a"] } } } }`,
  );
  expect(asInFile(config)).toMatchObject({
    tools: { exposure: "full" },
    profiles: { p: { tools: { exposure: "auto", deny: ["{git__,db__}a"] } } },
  });
});
