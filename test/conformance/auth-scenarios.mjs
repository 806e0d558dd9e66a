/** The suite's scenarios of authorization, in which the built gateway is the client. */
import { fileURLToPath } from "node:url";
import { runClientScenario, scenariosOf } from "./suite.mjs";

const DRIVER = fileURLToPath(new URL("auth-driver.mjs", import.meta.url));

/** Servers of this revision are still there, and the suite has no requirements of it: both of its scenarios. */
const OLDEST = "2025-03-26";
const OF_OLDEST = ["auth/2025-03-26-oauth-metadata-backcompat", "auth/2025-03-26-oauth-endpoint-fallback"];

/** What the servers of a run speak. */
export const AUTH_REVISIONS = [OLDEST, "2025-11-25", "2026-07-28"];

/** Scenarios that are not run, and why. None is scored. */
export const NOT_RUN = new Map([
  ["auth/dpop", "Cardea does not offer DPoP (SEP-1932, a draft)."],
  ["auth/dpop-nonce", "Cardea does not offer DPoP (SEP-1932, a draft)."],
  ["auth/wif-jwt-bearer", "Cardea does not offer workload identity federation (a draft)."],
  [
    "auth/enterprise-managed-authorization",
    "The suite hands its client an ID token; its company's issuer has no page at which a person could sign in.",
  ],
]);

/** @returns {readonly { name: string, scored: boolean }[]} those that are run */
export function authScenarios(revision) {
  if (revision === OLDEST) return OF_OLDEST.map((name) => ({ name, scored: false }));
  return scenariosOf(revision, "client").filter(({ name }) => name.startsWith("auth/") && !NOT_RUN.has(name));
}

/** Runs them one after another; `folder` gets the suite's output. @returns {Promise<import("./suite.mjs").Results>} */
export async function runAuth(revision, folder) {
  const results = new Map();
  for (const { name } of authScenarios(revision)) {
    const command = `${process.execPath} ${DRIVER}`;
    const run = await runClientScenario(name, revision, command, `${folder}/${name}`);
    results.set(name, run.get(name) ?? new Map());
  }
  return results;
}
