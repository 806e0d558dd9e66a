/** One merged list as a client sees it, with the route of every exposed name; it never changes. */
import { createHash } from "node:crypto";
import type { Route } from "../core/call.js";
import type { ListKind } from "../core/lists.js";
import type { JsonObject } from "../wire/json.js";
import { writeJson } from "../wire/json-text.js";
import { Payload } from "../wire/payload.js";
import { type Cursor, PAGE_SIZE, pageStart, writeCursor } from "./pagination.js";

/** A list entry under its exposed name, and where a call to it leads. */
export interface ExposedItem {
  readonly route: Route;
  readonly item: JsonObject;
}

/** The version of a list for its subscribers, who do not keep the list itself, which may be large. */
export interface ListVersion {
  readonly kind: ListKind;
  readonly revision: string;
}

/** Equal source lists merge into one of these, so that most clients share it and its prepared text. */
export class Snapshot {
  readonly #byExposed = new Map<string, Route | undefined>();
  #byOwn: Map<string, readonly Route[]> | undefined;
  #revision: string | undefined;
  #version: ListVersion | undefined;
  readonly #pages = new Map<number, Payload>();

  constructor(
    readonly kind: ListKind,
    readonly entries: readonly ExposedItem[],
  ) {
    for (const { route } of entries) addRoute(this.#byExposed, route.exposed, route);
  }

  get length(): number {
    return this.entries.length;
  }

  has(exposed: string): boolean {
    return this.#byExposed.has(exposed);
  }

  /** The owner of an exposed name; undefined when no server has it, or (web addresses) several have. */
  find(exposed: string): Route | undefined {
    return this.#byExposed.get(exposed);
  }

  /** The owner of a server's own name, when exactly one server has it. */
  findOwn(own: string): Route | undefined {
    const [route, second] = this.ownersOf(own);
    return second === undefined ? route : undefined;
  }

  /** Every server that has something under this name of its own. */
  ownersOf(own: string): readonly Route[] {
    if (this.#byOwn === undefined) {
      this.#byOwn = new Map();
      for (const { route } of this.entries) {
        this.#byOwn.set(route.target, [...(this.#byOwn.get(route.target) ?? []), route]);
      }
    }
    return this.#byOwn.get(own) ?? [];
  }

  indexOf(exposed: string): number {
    return this.entries.findIndex(({ route }) => route.exposed === exposed);
  }

  /** Two lists have the same revision exactly when a client would see no difference; the same in every process. */
  get revision(): string {
    if (this.#revision === undefined) {
      const hash = createHash("sha256");
      for (let at = 0; at === 0 || at < this.length; at += PAGE_SIZE) hash.update(this.#itemsText(at));
      this.#revision = hash.digest("base64url").slice(0, 12);
    }
    return this.#revision;
  }

  /** The same object each time. */
  get version(): ListVersion {
    this.#version ??= { kind: this.kind, revision: this.revision };
    return this.#version;
  }

  /** The result that shows the page of `cursor`, or the first one; its text is made once. */
  page(cursor: Cursor | undefined): Payload {
    const start = cursor === undefined ? 0 : pageStart(this, cursor);
    // Only pages that begin where pages begin are kept: a client could ask for any other.
    const regular = start % PAGE_SIZE === 0;
    const made = (regular ? this.#pages.get(start) : undefined) ?? this.#makePage(start);
    if (regular) this.#pages.set(start, made);
    return made;
  }

  #makePage(start: number): Payload {
    const end = start + PAGE_SIZE;
    const last = this.entries[end - 1];
    const next =
      end < this.length && last !== undefined
        ? writeCursor({ kind: this.kind, revision: this.revision, offset: end, after: last.route.exposed })
        : undefined;
    const tail = next === undefined ? "" : `,"nextCursor":${writeJson(next)}`;
    const text = `{${writeJson(this.kind)}:${this.#itemsText(start)}${tail}}`;
    return Payload.ofText(Buffer.from(text, "utf8"));
  }

  #itemsText(start: number): string {
    return writeJson(this.entries.slice(start, start + PAGE_SIZE).map(({ item }) => item));
  }
}

/** A name with two owners is ambiguous. */
function addRoute(routes: Map<string, Route | undefined>, name: string, route: Route): void {
  routes.set(name, routes.has(name) ? undefined : route);
}
