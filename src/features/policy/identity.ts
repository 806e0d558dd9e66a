/** When is a rule or limit of a new config the one that was there before? */
import { hash } from "node:crypto";
import { canonicalText } from "../../wire/json-text.js";

/** The part of rules and limits that identifies them. */
interface Identified {
  readonly name: string;
  readonly isUnnamed?: true;
}

/** Without the name where that is only its place in the list: in front of it another one may have been added. */
export function withoutNumber<T extends Identified>(config: T): Omit<T, "name"> {
  if (config.isUnnamed !== true) return config;
  const { name: _, ...rest } = config;
  return rest;
}

/** The name that the config gives, else a digest of the content. */
export const identityOf = (config: Identified): string =>
  config.isUnnamed === true
    ? `#${hash("sha256", canonicalText(withoutNumber(config))).slice(0, 32)}`
    : config.name;
