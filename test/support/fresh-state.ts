/** A state folder for each program that a test starts, so that none of them knows what another one has learned. */
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

type Environment = Readonly<Record<string, string | undefined>>;

/** Names the folder in which the others are, in the environment of the test files. */
const ROOT = "CARDEA_TEST_STATE";

/** The environment with a state folder of its own, unless it names one. */
export function withFreshState<Env extends Environment>(
  env: Env,
): Env & { readonly CARDEA_STATE_DIR: string } {
  const { CARDEA_STATE_DIR = join(process.env[ROOT] ?? tmpdir(), randomUUID()) } = env;
  return { ...env, CARDEA_STATE_DIR };
}

/** Vitest calls it once, before all files; what it returns afterwards. */
export default function setup(): () => void {
  const root = mkdtempSync(join(tmpdir(), "cardea-test-state-"));
  process.env[ROOT] = root;
  return () => rmSync(root, { recursive: true, force: true });
}
