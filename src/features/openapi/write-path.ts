/** How do arguments become the path of a request, and stay in their part of it? */
import { isObject } from "../../wire/json.js";
import { checkWritten } from "./check-shape.js";
import { type Given, givenValue, refuseTaken, UnusableArgument } from "./given-values.js";
import type { Operation } from "./operation.js";
import type { Routes } from "./routes.js";
import { encodeValue, isExploded, plainText, segmentText } from "./styles.js";
import { TakenNames } from "./taken-names.js";
import { decodedText } from "./wire-names.js";

/** The path of an operation, below the base URL. @throws UnusableArgument */
export function writePath(
  { method, path: template }: Pick<Operation, "method" | "path">,
  given: readonly Given[],
  routes: Routes,
): string {
  const values = new Map(given.map((one) => [one[0].name, one]));
  const path = template.replace(/\{([^}]+)\}/g, (_, name: string) => {
    const found = values.get(name);
    if (found === undefined) throw new UnusableArgument(`the argument "${name}" is required`);
    return segmentOf(found, () => [...values.keys(), ...matrixNames(template)]);
  });
  // Text of the template between parameters; what parameters hold is encoded already.
  const safe = path.replace(/[^\x21-\x7e]|[?#"<>\\^`{|}]/g, (character) =>
    encodeURIComponent(character.toWellFormed()),
  );
  if (safe.split("/").some((segment) => LEAVES_FOLDER.test(decodedText(segment))))
    throw new UnusableArgument('an argument in the path may not make it go to "." or ".."');
  const other = routes.other(method, template, safe);
  if (other !== undefined)
    throw new UnusableArgument(
      `with these arguments the path is that of another operation, to some servers: ${method} ${other.slice(0, 200)}`,
    );
  return safe;
}

/** Names that the template gives values itself: `;name=value`. */
const matrixNames = (template: string): readonly string[] =>
  [...template.matchAll(/;([^=;/{}]+)/g)].map(([, name = ""]) => name);

/** `.` or `..` as a folder, also before what some servers take for the parameters of a folder (`..;`). */
const LEAVES_FOLDER = /(?:^|[/\\])\.{1,2}(?:$|[/\\;])|\0/;

/**
 * Values of a path stay in their segment. Slashes are encoded, but some servers and proxies decode them before they
 * resolve `..`, so such a value is refused; an empty one would be another path.
 */
function segmentOf([parameter, value]: Given, names: () => readonly string[]): string {
  const { argument, name } = parameter;
  const given = givenValue(parameter, value);
  const isNamed = isObject(given) && isExploded(parameter);
  if (isNamed) refuseTaken(argument, name, Object.keys(given), new TakenNames(names()));
  const texts = (Array.isArray(given) ? given : [given]).map(plainText);
  const isNothing = isObject(given) && Object.keys(given).length === 0;
  if (isNothing || texts.every((text) => text === ""))
    throw new UnusableArgument(`the argument "${argument}" is empty, and a part of the path`);
  if (texts.some((text) => LEAVES_FOLDER.test(decodedText(text))))
    throw new UnusableArgument(
      `the argument "${argument}" is a part of the path, and may not hold "." or ".." as a folder`,
    );
  checkWritten(argument, value, parameter.shape, parameter.content !== undefined ? "json" : "flat");
  return segmentText(encodeValue(name), given, { ...parameter, encode: encodeValue });
}
