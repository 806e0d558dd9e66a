/** Which tools `tools/list` shows to a client: all of them, or the search tools and the pinned ones. */
import type { Client } from "../../core/client.js";
import type { SettingsOfFeatures } from "../../core/feature.js";
import type { ExposedItem, ToolList } from "../../core/list-transform.js";
import { glob, type NameMatcher } from "../../patterns/globs.js";
import { stringAt } from "../../wire/json.js";
import { writeJson } from "../../wire/json-text.js";
import { SEARCH_ROUTES, SEARCH_TOOL_NAMES, SEARCH_TOOLS } from "./own-tools.js";
import { type ExposureSettings, exposureOf, exposureOfProfile } from "./section.js";

/**
 * How the client finds tools: `search`: its list does not show them; `deferred`: its host loads definitions on demand.
 */
export type ToolAccess = "listed" | "deferred" | "search";

/** The form of a client's list. */
type ListExposure = "full" | "search";

/** About four bytes of JSON per token. */
const BYTES_PER_TOKEN = 4;

/**
 * Names in `clientInfo` of hosts that load tool definitions on demand themselves: Claude Code and Codex. Tool search would only add a round to each of their searches.
 */
const DEFERRING_HOSTS: ReadonlySet<string> = new Set(["claude-code", "codex-mcp-client"]);

/** Whether a host loads tool definitions on demand itself. */
const defersTools = ({ info }: Pick<Client, "info">): boolean =>
  DEFERRING_HOSTS.has((stringAt(info, "name") ?? "").toLowerCase());

/** The exposure of one URL. It depends on the config, the client's own view and its `clientInfo`, and on no earlier request. */
export class Exposure {
  readonly #settings: ExposureSettings;
  readonly #pins: readonly NameMatcher[];
  /** Keyed by the list that they replace, so that equal lists share text and version. */
  readonly #short = new WeakMap<ToolList, readonly ExposedItem[]>();
  readonly #isLarge = new WeakMap<ToolList, boolean>();

  /** @throws RE2JSSyntaxException for a pin whose braces nest about a thousand levels deep; the config allows 100 braces */
  constructor(settings: ExposureSettings) {
    this.#settings = settings;
    this.#pins = settings.pinned.map(glob);
  }

  /** Whether clients may use the search tools here, including clients with the whole list. */
  get hasSearch(): boolean {
    return this.#settings.exposure !== "full";
  }

  /** Whether lists depend on the host's `clientInfo`. */
  get isPerHost(): boolean {
    return this.#settings.exposure === "auto";
  }

  /** @param tools all tools of the client's view */
  of(client: Pick<Client, "info">, tools: ToolList): ListExposure {
    const { exposure } = this.#settings;
    if (exposure !== "auto") return exposure;
    return !defersTools(client) && this.#exceedsThreshold(tools) ? "search" : "full";
  }

  /** How the client finds tools, for the instructions. */
  access(client: Pick<Client, "info">, tools: ToolList): ToolAccess {
    if (this.of(client, tools) === "search") return "search";
    return this.isPerHost && defersTools(client) ? "deferred" : "listed";
  }

  /** The part of `tools` that `tools/list` shows where that is not all of it; the same array each time. */
  short(tools: ToolList): readonly ExposedItem[] {
    let short = this.#short.get(tools);
    if (short === undefined) {
      short = [...OWN_ITEMS, ...tools.entries.filter((entry) => this.#isPinned(entry))];
      this.#short.set(tools, short);
    }
    return short;
  }

  #isPinned({ route: { exposed, aggregateName = exposed } }: ExposedItem): boolean {
    return this.#pins.some((matches) => matches(aggregateName));
  }

  #exceedsThreshold(tools: ToolList): boolean {
    let isLarge = this.#isLarge.get(tools);
    if (isLarge === undefined) {
      let left = this.#settings.autoThreshold * BYTES_PER_TOKEN;
      // Returns early: the exact size of a list of 10,000 tools does not matter.
      isLarge = tools.entries.some(({ item }) => {
        left -= Buffer.byteLength(writeJson(item)) + 1;
        return left < 0;
      });
      this.#isLarge.set(tools, isLarge);
    }
    return isLarge;
  }
}

/** The exposures of one config. */
export class Exposures {
  readonly #gateway: Exposure;
  readonly #profiles: ReadonlyMap<string, Exposure>;

  constructor({ features, profiles }: SettingsOfFeatures) {
    const gateway = exposureOf(features);
    this.#gateway = new Exposure(gateway);
    this.#profiles = new Map(
      Object.entries(profiles).flatMap(([name, profile]): [string, Exposure][] => {
        const exposure = exposureOfProfile(profile.features, gateway);
        return exposure === undefined ? [] : [[name, new Exposure(exposure)]];
      }),
    );
  }

  /** Whether clients of some URL may use the search tools. */
  get hasSearch(): boolean {
    return [this.#gateway, ...this.#profiles.values()].some(({ hasSearch }) => hasSearch);
  }

  /** The exposure of an endpoint: "" or the NAME of `/mcp/NAME`. */
  of(endpoint: string): Exposure {
    return this.#profiles.get(endpoint) ?? this.#gateway;
  }
}

const OWN_ITEMS: readonly ExposedItem[] = SEARCH_TOOL_NAMES.map((name) => ({
  route: SEARCH_ROUTES[name],
  item: SEARCH_TOOLS[name],
}));
