/** Vaults in folders of their own, and sign-ins to keep in them. */
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { SILENT } from "../../../src/core/logger.js";
import type { Credential } from "../../../src/features/vault/types.js";
import { type OpenVault, openVault, type VaultOptions } from "../../../src/features/vault/vault.js";

/** A state folder that is removed after the test. */
export function stateFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "cardea-vault-"));
  onTestFinished(() => {
    chmodSync(folder, 0o700);
    rmSync(folder, { recursive: true, force: true });
  });
  return folder;
}

export function vaultIn(state: string, options: Partial<VaultOptions> = {}): Promise<OpenVault> {
  return openVault({ folder: join(state, "credentials"), logger: SILENT, ...options });
}

export const credential = (change: Partial<Credential> = {}): Credential => ({
  generation: 1,
  server: "linear",
  principal: "ann",
  issuer: "https://login.example.com",
  resource: "https://mcp.example.com/mcp",
  client: { clientId: "c1", tokenEndpointAuthMethod: "none", source: "dynamic" },
  tokenEndpoint: "https://login.example.com/token",
  grant: "authorization_code",
  tokens: { accessToken: "access-1", refreshToken: "refresh-1", obtainedAt: 0, expiresAt: 3_600_000 },
  askedScopes: ["read"],
  ...change,
});
