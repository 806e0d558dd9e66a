/**
 * Does an argument in the path make it the path of another operation? A server takes `/users/me` for the operation of that
 * path, not for `/users/{id}`; one that decodes slashes before it routes (WSGI) takes `/users/7%2Fkeys` for `/users/{id}/keys`.
 */
import { decodedText } from "./wire-names.js";

/** The routes of one document. They are taken apart when a call asks: a document may have 20,000. */
export class Routes {
  /** Templates by the method and the number of segments. */
  readonly #templates = new Map<string, string[]>();

  /** @param routes `GET /users/{id}`, also of operations that the config does not select */
  constructor(routes: readonly string[]) {
    for (const route of routes) {
      const space = route.indexOf(" ");
      const template = route.slice(space + 1);
      const key = keyOf(route.slice(0, space), countOf(template));
      const known = this.#templates.get(key);
      if (known === undefined) this.#templates.set(key, [template]);
      else known.push(template);
    }
  }

  /** The template of another operation that `path`, which was made of `template`, leads to; undefined where there is none. */
  other(method: string, template: string, path: string): string | undefined {
    const own = segmentsOf(template);
    // By as many slashes as the server that reads most of them.
    const segments = segmentsOf(decodedText(path));
    const found = this.#templates.get(keyOf(method, segments.length)) ?? [];
    return found.find((one) => one !== template && isOther(one, own, segments));
  }
}

const keyOf = (method: string, count: number): string => `${method} ${count}`;

/**
 * Whether `segments` are a path of the template `other`, and it is another route than `own`: two templates with parameters in
 * the same places are one route, of which the document does not say more.
 */
function isOther(other: string, own: readonly string[], segments: readonly string[]): boolean {
  let isAnother = own.length !== segments.length;
  let at = 0;
  for (let from = 0; from < other.length; ) {
    const slash = other.indexOf("/", from);
    const to = slash === -1 ? other.length : slash;
    if (to > from) {
      const segment = other.slice(from, to);
      if (!segment.includes("{")) {
        // Some servers ignore case.
        if (segment !== segments[at] && decodedText(segment).toLowerCase() !== segments[at]) return false;
        if (own[at]?.includes("{") === true) isAnother = true;
      }
      at += 1;
    }
    from = to + 1;
  }
  return isAnother;
}

/** The segments in lower case, without empty ones. */
const segmentsOf = (path: string): readonly string[] =>
  path
    .toLowerCase()
    .split(/[/\\]+/)
    .filter((one) => one !== "");

/** How many segments a template has that are not empty. */
function countOf(template: string): number {
  let count = template.endsWith("/") ? 0 : 1;
  for (let at = template.indexOf("/", 1); at !== -1; at = template.indexOf("/", at + 1))
    if (template[at - 1] !== "/") count += 1;
  return count;
}
