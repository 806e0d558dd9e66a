/** The whole gateway in the process of a test, made from a config file. */
import type { Config } from "../../src/config/config.js";
import { readConfig } from "../../src/config/read.js";
import { type Logger, SILENT } from "../../src/core/logger.js";
import { createGateway, type Gateway } from "../../src/gateway/gateway.js";
import { inThisBuild } from "./cardea.js";
import { CHANNELS, openedFeatures, SECTIONS } from "./features.js";

/** `listen` of a config file: free ports. */
const FREE_PORTS = { http: { port: 0 }, admin: { port: 0 } };

/** The config that a file with this content is; its listeners take free ports. @throws Error with the problems */
export function configOf(file: object | string): Config {
  const text = typeof file === "string" ? file : JSON.stringify(inThisBuild({ listen: FREE_PORTS, ...file }));
  const read = readConfig(text, "cardea.json", { env: {}, sections: SECTIONS });
  if (!read.ok || read.problems.length > 0) throw new Error(JSON.stringify(read.problems));
  return read.config;
}

/** A gateway that has not been started, with the features that its config asks for. Default: it has no state folder. */
export async function gatewayOf(
  file: object | string,
  log: Partial<Logger> = {},
  stateFolder?: string,
): Promise<Gateway> {
  const config = configOf(file);
  const options = { logger: { ...SILENT, ...log }, version: "0.0.0-test" };
  const env = { OTEL_BSP_SCHEDULE_DELAY: "5" };
  const features = await openedFeatures(config, { ...options, env, stateFolder });
  return createGateway(config, { ...options, features, channels: CHANNELS });
}

/** Starts it. Tests that use `adminUrl` import `features/admin/needed.js`: without that feature nothing listens there. */
export async function listening(gateway: Pick<Gateway, "start">): Promise<Listening> {
  const { adminUrl = "http://nothing.invalid", ...bound } = await gateway.start();
  return { ...bound, adminUrl };
}

/** Where a gateway listens. */
export interface Listening {
  readonly url: string;
  readonly adminUrl: string;
  readonly starting: readonly string[];
}
