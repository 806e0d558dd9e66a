/** Which part of the gateway does a URL name as a resource (RFC 8707, RFC 9728): all of it, or one endpoint, `/mcp/NAME`? */

/** What may follow the URL of the gateway: a name, a slash. Nothing in it needs escaping in a header (RFC 3986, `pchar`). */
const PLACE = /^(?:\/[\w.~!$&'()*+,;=:@%-]{1,200})?\/?$/;

/**
 * The place that `path` names below `base`: "" for the whole gateway, `/NAME` for one endpoint, each also with a slash at its
 * end, as the host has written it. Undefined for any other path.
 */
export function placeIn(path: string, base: string): string | undefined {
  if (!path.startsWith(base)) return undefined;
  const place = path.slice(base.length);
  return PLACE.test(place) ? place : undefined;
}

/** The URL of `place` at the gateway whose URL is `resource`. */
export const resourceAt = (resource: string, place: string): string =>
  place === "" ? resource : `${resource.replace(/\/$/, "")}${place}`;

/** The name of the endpoint at `place`; "" for the whole gateway. A name that cannot be decoded is none. */
export function endpointAt(place: string): string | undefined {
  try {
    return decodeURIComponent(place.replaceAll("/", ""));
  } catch {
    return undefined;
  }
}

/** The endpoint that the URL `asked` names at the gateway whose URL is `resource`; undefined for another resource. */
export function endpointOf(asked: string, resource: string): string | undefined {
  if (!URL.canParse(asked) || !URL.canParse(resource)) return undefined;
  const own = new URL(resource).href.replace(/\/$/, "");
  const place = placeIn(new URL(asked).href, own);
  return place === undefined ? undefined : endpointAt(place);
}

/** The URL of the endpoint of that name; "" is the whole gateway. */
export const resourceOfEndpoint = (resource: string, endpoint: string): string =>
  endpoint === "" ? resource : resourceAt(resource, `/${encodeURIComponent(endpoint)}`);
