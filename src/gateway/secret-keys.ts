/** The keys that seal what hosts carry for the gateway, each made of one secret and good for one use. */
import { createSecretKey, hkdfSync, type KeyObject, randomBytes, randomUUID } from "node:crypto";

export interface SecretKeys {
  /** Seals request states. */
  readonly states: KeyObject;
  /** Seals the handles of tasks. */
  readonly tasks: KeyObject;
  /** Marks what the policy writes into request states. */
  readonly rounds: string;
}

/** Which gateway this is, among all of them; the same for all its workers, who share a secret. */
export function gatewayInstanceId(secret: string | undefined): string {
  if (secret === undefined) return randomUUID();
  return Buffer.from(hkdfSync("sha256", secret, "cardea", "instance", 16)).toString("hex");
}

/** Without a secret the keys are new at each start, and what was sealed before opens no more. */
export function secretKeys(secret: string | undefined): SecretKeys {
  const material = secret === undefined ? randomBytes(32) : Buffer.from(secret, "utf8");
  const bytes = (use: string): Buffer => Buffer.from(hkdfSync("sha256", material, "cardea", use, 32));
  const derived = (use: string): KeyObject => createSecretKey(bytes(use));
  return {
    states: derived("request states"),
    tasks: derived("task handles"),
    rounds: bytes("policy rounds").toString("base64url"),
  };
}
