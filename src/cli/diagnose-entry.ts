/** What `cardea doctor` says of a server whose entry in the config is wrong, so that it is not started. */
import type { MisconfiguredServer } from "../config/config.js";
import { placedReasonOf } from "../config/misconfigured.js";
import type { Diagnosis } from "./diagnose.js";

/** The problems with their places in the file, and what to do. */
export function diagnoseEntry(server: MisconfiguredServer): Diagnosis {
  const unset = server.problems.flatMap(({ message }) => UNSET.exec(message)?.[1] ?? []);
  const names = [...new Set(unset)].join(", ");
  return {
    cause: "misconfigured",
    sentence: `its entry in the config is wrong, so it is not started: ${placedReasonOf(server)}`,
    ...(names !== "" && {
      advice: `set ${names} in the environment of the gateway, or in a file that envFile at the top of the config names; \${NAME:-default} gives a default`,
    }),
  };
}

const UNSET = / needs the variable (\w+), which is not set /;
