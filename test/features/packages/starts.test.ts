/** Which version of a package runs, with npm and a registry of the test. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type ProbeResult, probeServer } from "../../../src/cli/probe.js";
import { usableServers } from "../../../src/config/config.js";
import { readConfig } from "../../../src/config/read.js";
import { SILENT } from "../../../src/core/logger.js";
import { settingsOf } from "../../../src/features/packages/section.js";
import { PackageStarts } from "../../../src/features/packages/start-layer.js";
import { atHome } from "../../cli/at-home.js";
import { SECTIONS, testOf } from "../../support/features.js";
import { metGateway } from "../../support/met-gateway.js";
import { NAME, type Registry, registry } from "./registry.js";

const npx = (word: string, { env, folder: cwd }: Registry) => ({
  command: "npx",
  args: ["-y", word],
  env,
  cwd,
});

async function probed(
  server: object,
  packages: object = {},
): Promise<ProbeResult & { readonly starts: PackageStarts }> {
  const text = JSON.stringify({ packages, mcpServers: { echo: server } });
  const outcome = readConfig(text, "cardea.json", { env: {}, sections: SECTIONS });
  if (!outcome.ok) throw new Error(JSON.stringify(outcome.problems));
  const [config] = usableServers(outcome.config);
  if (config === undefined) throw new Error("no server");
  const starts = new PackageStarts(settingsOf(outcome.config.features), SILENT);
  const gateway = { name: "test", version: "0" };
  const found = await probeServer(config, {
    gateway,
    signal: new AbortController().signal,
    startLayers: [starts],
  });
  starts.close();
  return { ...found, starts };
}

const versionOf = ({ connected, error }: ProbeResult): unknown => connected?.serverInfo.version ?? error;
const errorOf = ({ error }: ProbeResult): string =>
  error instanceof Error ? error.message : "there was none";

test("the newest version that is old enough is fetched, and runs when the registry is away", async () => {
  const npm = await registry({ "1.0.0": 30, "1.1.0": 10, "1.2.0": 2 });
  const first = await probed(npx(NAME, npm));
  expect(versionOf(first)).toBe("1.1.0");
  expect(first.starts.runningOf("echo")).toEqual({
    runner: "npx",
    name: NAME,
    isPinned: false,
    version: "1.1.0",
  });
  npm.stop();
  expect(versionOf(await probed(npx(NAME, npm)))).toBe("1.1.0");
});

test("an exact version that is too young is refused with its age, unless the limit is off", async () => {
  const npm = await registry({ "1.0.0": 30, "1.2.0": 2 });
  const young = npx(`${NAME}@1.2.0`, npm);
  const refused = errorOf(await probed(young));
  expect(refused).toContain(`${NAME}@1.2.0 was published 2 days ago, and packages.minAge asks for 7 days`);
  expect(refused).toContain(`${NAME}@1.0.0 is old enough`);
  expect(versionOf(await probed(young, { minAge: "0s" }))).toBe("1.2.0");
  npm.stop();
  expect(versionOf(await probed(young))).toBe("1.2.0");
});

test("an exact version that is too young is refused where the project has another one", async () => {
  const npm = await registry({ "1.0.0": 30, "1.2.0": 2 });
  const installed = join(npm.folder, "node_modules", NAME);
  mkdirSync(installed, { recursive: true });
  writeFileSync(join(installed, "package.json"), JSON.stringify({ name: NAME, version: "1.0.0" }));
  const young = await probed(npx(`${NAME}@1.2.0`, npm));
  expect(errorOf(young)).toContain("1.2.0 was published 2 days ago");
  expect(young.starts.runningOf("echo")).toMatchObject({ version: "1.2.0" });
});

test("where every version is too young, or the registry is away, the reason is a sentence", async () => {
  const npm = await registry({ "1.2.0": 2 });
  expect(errorOf(await probed(npx(NAME, npm)))).toContain("has no version that is at least 7 days old");
  const away = await registry({ "1.2.0": 2 });
  away.stop();
  expect(errorOf(await probed(npx(`${NAME}@1.2.0`, away)))).toContain(
    `${NAME} is not installed yet, and the package registry cannot be reached`,
  );
});

test("install scripts run only with packages.scripts; a server that needs one says which", async () => {
  const npm = await registry({ "1.0.0": 30 }, { needsScript: true });
  expect(errorOf(await probed(npx(NAME, npm)))).toContain(`install scripts of ${NAME} were not run`);
  const other = await registry({ "1.0.0": 30 }, { needsScript: true });
  expect(versionOf(await probed(npx(NAME, other), { scripts: true }))).toBe("1.0.0");
});

test("add writes the exact version that is old enough; without a registry it writes what was given", async () => {
  const npm = await registry({ "1.0.0": 30, "1.2.0": 2 });
  const { run, read } = atHome({ ...npm.env, CARDEA_UNPINNED: "0" });
  expect((await run("add", "echo", "--", "npx", "-y", NAME)).code).toBe(0);
  expect((await run("add", "other", "--unpinned", "--", "npx", "-y", NAME)).code).toBe(0);
  const away = atHome({ ...npm.env, npm_config_cache: `${npm.folder}/empty`, CARDEA_UNPINNED: "0" });
  npm.stop();
  const { said } = await away.run("add", "away", "--", "npx", "-y", NAME);
  expect(said.join("\n")).toContain(`${NAME} is written without an exact version`);
  const { mcpServers } = JSON.parse(read("work/cardea.jsonc")) as {
    mcpServers: Record<string, { args: string[] }>;
  };
  expect(Object.values(mcpServers).map(({ args }) => args[1])).toEqual([`${NAME}@1.0.0`, NAME]);
  expect(away.read("work/cardea.jsonc")).toContain(`"${NAME}"`);
});

testOf("admin")("the admin API says which version runs", async () => {
  // Two versions, so that the rows differ.
  const npm = await registry({ "1.0.0": 30, "1.1.0": 20 });
  const { admin, stop } = await metGateway({
    mcpServers: {
      echo: npx(NAME, npm),
      pinned: npx(`${NAME}@1.0.0`, npm),
    },
  });
  const rows = (await (await fetch(`${admin}/api/v1/servers`)).json()) as readonly {
    package: object;
  }[];
  await stop();
  const found = { runner: "npx", name: NAME };
  expect(rows.map((row) => row.package)).toEqual([
    { ...found, version: "1.1.0", pinned: false },
    { ...found, version: "1.0.0", pinned: true },
  ]);
});
