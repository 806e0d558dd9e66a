/** Parses `WWW-Authenticate` headers (RFC 9110, 11.6.1; RFC 6750, 3; RFC 9728, 5.1). */

/** One challenge of the header. */
export interface Challenge {
  /** In lower case. */
  readonly scheme: string;
  /** The token68 after the scheme, instead of parameters. */
  readonly token68?: string;
  /** Keyed by lower-case name. The first value of a repeated name counts. */
  readonly parameters: ReadonlyMap<string, string>;
}

/** The parameters of a Bearer challenge. */
export interface BearerChallenge {
  readonly resourceMetadata?: string;
  readonly scope?: string;
  readonly error?: string;
  readonly errorDescription?: string;
}

/**
 * The Bearer challenge of a header: the first with `resource_metadata`, otherwise the first. Undefined if the header
 * has none.
 *
 * @param header the values of `WWW-Authenticate`, joined with commas if repeated
 */
export function bearerChallenge(header: string | undefined): BearerChallenge | undefined {
  if (header === undefined) return undefined;
  const bearers = parseChallenges(header).filter(({ scheme }) => scheme === "bearer");
  const chosen = bearers.find(({ parameters }) => parameters.has("resource_metadata")) ?? bearers[0];
  if (chosen === undefined) return undefined;
  const { parameters } = chosen;
  const member = <K extends keyof BearerChallenge>(key: K, name: string) => {
    const value = parameters.get(name);
    return value === undefined ? {} : { [key]: value };
  };
  return {
    ...member("resourceMetadata", "resource_metadata"),
    ...member("scope", "scope"),
    ...member("error", "error"),
    ...member("errorDescription", "error_description"),
  };
}

const TOKEN = /[!#$%&'*+\-.^_`|~0-9A-Za-z]+/y;
const TOKEN68 = /[A-Za-z0-9\-._~+/]+=*(?=[ \t]*(?:,|$))/y;
const SPACES = /[ \t]*/y;
const SEPARATORS = /[ \t,]*/y;
const QUOTED = /"((?:[^"\\]|\\[\s\S])*)"/y;
/** An unquoted value; more lenient than a token, because servers omit the quotes of URLs. */
const BARE_VALUE = /[^\s,"]+/y;

/** All challenges of a header, in order, in linear time. Everything after a malformed part is ignored. */
export function parseChallenges(header: string): readonly Challenge[] {
  const challenges: Challenge[] = [];
  let at = 0;

  /** The match of `pattern` at the position, which then moves past it. */
  const take = (pattern: RegExp): RegExpExecArray | undefined => {
    pattern.lastIndex = at;
    const found = pattern.exec(header) ?? undefined;
    if (found !== undefined) at = pattern.lastIndex;
    return found;
  };
  /** `name = value`, or undefined with the position unchanged. */
  const takeParameter = (): readonly [name: string, value: string] | undefined => {
    const start = at;
    const name = take(TOKEN)?.[0];
    take(SPACES);
    if (name !== undefined && header[at] === "=") {
      at += 1;
      take(SPACES);
      const quoted = take(QUOTED)?.[1];
      const value = quoted?.replace(/\\([\s\S])/g, "$1") ?? take(BARE_VALUE)?.[0];
      if (value !== undefined) return [name.toLowerCase(), value];
    }
    at = start;
    return undefined;
  };

  for (;;) {
    take(SEPARATORS);
    const scheme = take(TOKEN)?.[0];
    if (scheme === undefined) return challenges;
    const parameters = new Map<string, string>();
    const hasSpace = (take(SPACES)?.[0] ?? "") !== "";
    const token68 = hasSpace ? take(TOKEN68)?.[0] : undefined;
    // `Bearer, Basic realm=x`: a lone word after a scheme is a token68 only if no comma separates them.
    for (;;) {
      const before = at;
      take(SEPARATORS);
      const parameter = token68 === undefined ? takeParameter() : undefined;
      if (parameter === undefined) {
        at = before;
        break;
      }
      const [name, value] = parameter;
      if (!parameters.has(name)) parameters.set(name, value);
    }
    challenges.push({
      scheme: scheme.toLowerCase(),
      ...(token68 !== undefined && { token68 }),
      parameters,
    });
  }
}
