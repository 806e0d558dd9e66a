/**
 * Does an argument in the path make it the path of another operation? A server takes `/users/me` for the operation of that
 * path, not for `/users/{id}`; one that decodes slashes before it routes (WSGI) takes `/users/7%2Fkeys` for `/users/{id}/keys`.
 */
import { decodedText } from "./wire-names.js";

interface Route {
  readonly template: string;
  /** In lower case, as some servers ignore it; undefined where a parameter is. */
  readonly segments: readonly (string | undefined)[];
}

/** The routes of one document. */
export class Routes {
  /** By the method and the number of segments. */
  readonly #routes = new Map<string, Route[]>();

  /** @param routes `GET /users/{id}`, also of operations that the config does not select */
  constructor(routes: readonly string[]) {
    for (const route of routes) {
      const space = route.indexOf(" ");
      const template = route.slice(space + 1);
      const segments = segmentsOf(template).map((one) => (one.includes("{") ? undefined : decodedText(one)));
      const key = `${route.slice(0, space)} ${segments.length}`;
      const known = this.#routes.get(key);
      if (known === undefined) this.#routes.set(key, [{ template, segments }]);
      else known.push({ template, segments });
    }
  }

  /** The template of another operation that `path`, which was made of `template`, leads to; undefined where there is none. */
  other(method: string, template: string, path: string): string | undefined {
    const own = segmentsOf(template);
    // By as many slashes as the server that reads most of them.
    const segments = segmentsOf(decodedText(path));
    return this.#routes.get(`${method} ${segments.length}`)?.find((route) => {
      if (route.template === template) return false;
      const isSame = route.segments.every((one, at) => one === undefined || one === segments[at]);
      // Two templates with parameters in the same places are one route, of which the document does not say more.
      const isOther =
        own.length !== segments.length ||
        route.segments.some((one, at) => one !== undefined && own[at]?.includes("{"));
      return isSame && isOther;
    })?.template;
  }
}

const segmentsOf = (path: string): readonly string[] =>
  path
    .toLowerCase()
    .split(/[/\\]+/)
    .filter((one) => one !== "");
