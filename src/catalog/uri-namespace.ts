/** The URIs under which hosts see the resources of a server; they turn back into its own without a table. */

/** The two directions between a server's own URIs (or URI templates) and those that hosts see. */
export interface UriNamespace {
  /** The prefix as it stands in URIs. */
  readonly prefix: string;
  expose(own: string): string;
  /** The server's own URI; undefined when `exposed` is none of this server's by its form. */
  reveal(exposed: string): string | undefined;
}

/** The prefix as it stands in URIs: a part of a scheme, where only these characters are allowed. */
export function uriPrefix(prefix: string): string {
  return prefix.toLowerCase().replace(/[^a-z0-9-]/gu, "-");
}

/** Schemes that hosts look at: an app's page must stay `ui:`, so the server moves behind the scheme. */
const KEPT_SCHEMES = /^((?:ui|skill):(?:\/\/)?)(.*)$/is;

/** Web addresses, which a client may fetch itself; they identify no server and are never rewritten. */
export const isWebAddress = (uri: string): boolean => /^https?:/i.test(uri);

/**
 * The URI space of a server with `prefix`; undefined for an empty prefix, which leaves all URIs alone.
 *
 * Templates go through the same way: what is put in front holds no braces, and an expanded template reveals
 * to the expansion of the server's own template.
 */
export function uriNamespace(prefix: string): UriNamespace | undefined {
  if (prefix === "") return undefined;
  const name = uriPrefix(prefix);
  const scheme = `${name}+`;
  const folder = `${name}/`;
  return {
    prefix: name,
    expose(own) {
      if (isWebAddress(own)) return own;
      const kept = KEPT_SCHEMES.exec(own);
      return kept === null ? scheme + own : `${kept[1]}${folder}${kept[2]}`;
    },
    reveal(exposed) {
      if (exposed.startsWith(scheme)) return exposed.slice(scheme.length);
      const kept = KEPT_SCHEMES.exec(exposed);
      if (kept?.[2]?.startsWith(folder) === true) return `${kept[1]}${kept[2].slice(folder.length)}`;
      return undefined;
    },
  };
}

/** Whether `uri` is `whole` itself or lies below it (2026-07-28: updates may name a sub-resource). */
export function isSubResource(uri: string, whole: string): boolean {
  if (!uri.startsWith(whole)) return false;
  return uri.length === whole.length || /[/?#]$/.test(whole) || /[/?#]/.test(uri.charAt(whole.length));
}
