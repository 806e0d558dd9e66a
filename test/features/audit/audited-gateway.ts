/** The whole gateway in the process of a test, with an audit log. */
import { SILENT } from "../../../src/core/logger.js";
import { createGateway, type Gateway } from "../../../src/gateway/gateway.js";
import { without } from "../../../src/wire/json.js";
import { openedFeatures } from "../../support/features.js";
import { configOf } from "../../support/gateway.js";
import { linesOf, newLog } from "./logs.js";

type Line = Readonly<Record<string, unknown>>;

interface Audited {
  readonly gateway: Gateway;
  /** The lines of this kind so far, without their places in the chain. */
  lines(kind: string): readonly Line[];
}

/** A gateway that has not been started; its log is in a folder of its own. */
export async function auditedGatewayOf(file: object): Promise<Audited> {
  const log = newLog();
  const config = configOf({ ...file, audit: { file: log, required: true } });
  const options = { logger: SILENT, version: "0.0.0-test", redact: (text: string) => text };
  const features = await openedFeatures(config, options);
  return {
    gateway: createGateway(config, { ...options, features }),
    lines: (kind) =>
      linesOf(log)
        .map((line) => JSON.parse(line) as Line)
        .filter((line) => line.kind === kind)
        .map((line) => without(line, ["seq", "at", "prev", "hash", "kind"])),
  };
}
