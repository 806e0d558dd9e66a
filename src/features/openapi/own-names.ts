/** Which names do the members of arguments have in the API? Those of the arguments themselves are in the parameters. */
import { argumentNamesOf, MemberGivenTwice } from "../../core/argument-names.js";
import { type JsonObject, objectAt } from "../../wire/json.js";
import { UnusableArgument } from "./given-values.js";
import type { Operation } from "./operation.js";

/** The arguments with the API's names of their members. @throws UnusableArgument for a member under two names */
export function withOwnNames({ tool }: Operation, given: JsonObject): JsonObject {
  const names = argumentNamesOf(tool);
  if (names === undefined) return given;
  const properties = objectAt(objectAt(tool, "inputSchema"), "properties") ?? {};
  try {
    return Object.fromEntries(
      Object.entries(given).map(([name, value]) => [
        name,
        Object.hasOwn(properties, name) ? names.toOwn(value, properties[name]) : value,
      ]),
    );
  } catch (error) {
    if (!(error instanceof MemberGivenTwice)) throw error;
    throw new UnusableArgument(error.message);
  }
}
