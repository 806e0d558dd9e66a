/** Protocol between the gateway and its renewal process: one JSON object per line, over pipes. */
import type { StoreRecipe } from "../../core/shared-store.js";
import type { Vault } from "../vault/types.js";
import type { CredentialKeys } from "../vault/vault.js";
import type { VaultFault } from "../vault/vault-error.js";
import type { Renewal, RenewalRequest } from "./renew.js";
import type { EndpointRecipe, TokenEndpoint } from "./token-endpoint.js";

/** The first line: the location of the vault. Keys are sent here, not as an argument or environment variable. */
export interface RenewalSetup {
  readonly folder: string;
  readonly keys: CredentialKeys | undefined;
  /** The store that holds the vault, instead of the folder. */
  readonly store?: StoreRecipe | undefined;
}

/** The exports of a recipe's module. */
export interface EndpointModule {
  readonly tokenEndpointOf: (settings: unknown, vault: Vault) => TokenEndpoint | Promise<TokenEndpoint>;
}

/** Every further line. */
export interface RenewalJob {
  readonly id: number;
  readonly recipe: EndpointRecipe;
  readonly request: RenewalRequest;
}

/** The response to a job. `fault` is absent if the error is not a VaultError. */
export type RenewalAnswer =
  | { readonly id: number; readonly renewal: Renewal }
  | { readonly id: number; readonly fault?: VaultFault; readonly message: string };
