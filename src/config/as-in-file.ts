/** A config as its file has it: the settings of features stand where their sections do. */
import type { Config, ConfiguredServer } from "./config.js";

/** `config` with the settings of features where their sections stand in the file. */
export function asInFile(config: Config): Readonly<Record<string, unknown>> {
  const shown: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(config)) {
    if (key === "features") Object.assign(shown, outerOf(config.features));
    else if (key === "servers") shown[key] = config.servers.map(serverAsInFile);
    else if (key === "profiles") shown[key] = profilesAsInFile(config.profiles);
    // Which files it was read from is no setting.
    else if (key !== "files") shown[key] = value;
  }
  return withInner(shown, config.features);
}

/** The settings of features that stand in no section of the gateway. */
const outerOf = (features: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(features).filter(([path]) => !path.includes(".")));

/** `shown` with the settings of features that stand within sections of the gateway. */
function withInner(shown: Record<string, unknown>, features: Readonly<Record<string, unknown>>) {
  for (const [path, settings] of Object.entries(features)) {
    const [parent = "", key] = path.split(".");
    if (key !== undefined) shown[parent] = { ...(shown[parent] as object | undefined), [key]: settings };
  }
  return shown;
}

const profilesAsInFile = (profiles: Config["profiles"]): object =>
  // Not by assignment: a profile may be called __proto__.
  Object.fromEntries(
    Object.entries(profiles).map(([name, { features, ...profile }]) => [
      name,
      withInner({ ...profile, ...outerOf(features) }, features),
    ]),
  );

const serverAsInFile = (server: ConfiguredServer): object =>
  Object.fromEntries(
    Object.entries(server).flatMap(([key, value]) =>
      key === "features" ? Object.entries(server.features) : [[key, value]],
    ),
  );
