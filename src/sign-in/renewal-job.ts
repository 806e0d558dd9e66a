/** What does a gateway say to its renewal process, and what does that answer? One JSON object a line, over pipes. */
import type { StoreConfig } from "../config/cluster-config.js";
import type { CredentialKeys } from "../vault/vault.js";
import type { VaultFault } from "../vault/vault-error.js";
import type { Renewal, RenewalRequest } from "./renew.js";
import type { EndpointRecipe, TokenEndpoint } from "./token-endpoint.js";
import type { Vault } from "./types.js";

/** The first line: where the vault is. Keys go this way, and are in no argument and no environment. */
export interface RenewalSetup {
  readonly folder: string;
  readonly keys: CredentialKeys | undefined;
  /** In which the vault is, in place of the folder. */
  readonly store?: StoreConfig | undefined;
}

/** What the module of a recipe exports. */
export interface EndpointModule {
  readonly tokenEndpointOf: (settings: unknown, vault: Vault) => TokenEndpoint | Promise<TokenEndpoint>;
}

/** Every further line. */
export interface RenewalJob {
  readonly id: number;
  readonly recipe: EndpointRecipe;
  readonly request: RenewalRequest;
}

/** The answer to a job. `fault` is absent where the error is no VaultError. */
export type RenewalAnswer =
  | { readonly id: number; readonly renewal: Renewal }
  | { readonly id: number; readonly fault?: VaultFault; readonly message: string };
