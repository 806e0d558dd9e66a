/** When is a rule or limit of a new config the one that was there before? */
import { hash } from "node:crypto";
import { canonicalText } from "../../wire/json-text.js";

/** The part of rules and limits that identifies them. */
interface Identified {
  readonly name: string;
  readonly isUnnamed?: true;
  readonly notify?: unknown;
}

/**
 * Without the name where that is only its place in the list: in front of it another one may have been added. Who gets notices
 * does not matter.
 */
export function withoutNumber(config: Identified): object {
  const { notify: _, ...rest } = config;
  if (rest.isUnnamed !== true) return rest;
  const { name: __, ...unnamed } = rest;
  return unnamed;
}

/** The name that the config gives, else a digest of the content. */
export const identityOf = (config: Identified): string =>
  config.isUnnamed === true
    ? `#${hash("sha256", canonicalText(withoutNumber(config))).slice(0, 32)}`
    : config.name;
