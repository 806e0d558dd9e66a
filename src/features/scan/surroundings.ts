/** What is known of all servers while the definitions of one are scanned. */
import type { Steps, Work } from "../../runtime/cooperative-yield.js";
import { isObject, stringAt } from "../../wire/json.js";
import type { Definition } from "./finding.js";
import { type NamedTool, skeleton } from "./rules/names.js";
import type { KnownNames } from "./rules/shadowing.js";

/** The names of all tools, by their servers. */
export class Surroundings {
  readonly #own = new Map<string, Set<string>>();
  readonly #servers = new Map<string, string[]>();
  readonly #alike = new Map<string, NamedTool[]>();

  /** Of `definitions`; yields in between. */
  static *of(definitions: Iterable<Definition>, work: Work): Steps<Surroundings> {
    const known = new Surroundings();
    for (const definition of definitions) {
      yield* work.spend(NAME_WORK);
      known.#add(definition);
    }
    return known;
  }

  #add({ server, kind, name, item }: Definition): void {
    const plain = name.toLowerCase();
    this.#namesOf(server).add(plain);
    if (kind !== "tools") return;
    pushTo(this.#servers, plain, server);
    pushTo(this.#alike, skeleton(name), { server, name, description: stringAt(item, "description") ?? "" });
  }

  /** What the definition `item` of `server` knows of names. */
  namesFor({ server, item }: Definition): KnownNames {
    const own = this.#namesOf(server);
    const parameters = parametersOf(item);
    return {
      isOwn: (name) => own.has(name) || parameters.has(name),
      othersWith: (name) => (this.#servers.get(name) ?? []).filter((other) => other !== server),
    };
  }

  /** The tools of other servers whose names look the same, but of servers that are the same one again. */
  alike({ server, name }: Definition): readonly NamedTool[] {
    const found = (this.#alike.get(skeleton(name)) ?? []).slice(0, MAX_ALIKE);
    return found.filter((other) => other.server !== server && !this.#areTwins(server, other.server));
  }

  /** Two entries of the config may start one server twice: nearly all of their names are the same. */
  #areTwins(server: string, other: string): boolean {
    const own = this.#namesOf(server);
    const theirs = this.#namesOf(other);
    if (Math.min(own.size, theirs.size) < 2) return false;
    let common = 0;
    for (const name of own) if (theirs.has(name)) common += 1;
    return common / Math.min(own.size, theirs.size) >= TWIN_SHARE;
  }

  #namesOf(server: string): Set<string> {
    const known = this.#own.get(server) ?? new Set();
    this.#own.set(server, known);
    return known;
  }
}

/** What a name costs, as characters that are searched. */
const NAME_WORK = 64;
const TWIN_SHARE = 0.6;
/** A name that more servers have is common. */
const MAX_ALIKE = 16;

function pushTo<Value>(lists: Map<string, Value[]>, key: string, value: Value): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}

function parametersOf({ inputSchema }: Definition["item"]): ReadonlySet<string> {
  const properties = isObject(inputSchema) ? inputSchema.properties : undefined;
  return new Set(isObject(properties) ? Object.keys(properties).map((name) => name.toLowerCase()) : []);
}
