/** Which budget does the result of a tool have? */
import type { SettingsOfFeatures } from "../../core/feature.js";
import { DEFAULTS, type ResultsSettings, type ServerResultsSettings } from "./section.js";

/** A token is four characters until it is counted better. */
export const CHARACTERS_PER_TOKEN = 4;

/** The budget of a result. */
export interface Budget {
  /** In characters of JSON, images and audio left out. */
  readonly characters: number;
  readonly keepMs: number;
  /** How much of the server's results is kept for one principal (bytes); undefined: no limit of its own. */
  readonly serverBytes: number | undefined;
}

interface ServerBudgets {
  /** Whether the config says what its tools have that are not in `tools`. */
  readonly isDecided: boolean;
  readonly usual: Budget | undefined;
  readonly tools: ReadonlyMap<string, Budget | undefined>;
}

/** The budgets of one config. */
export class Budgets {
  readonly #servers: ReadonlyMap<string, ServerBudgets>;
  readonly settings: ResultsSettings;
  /** Whether no tool has one. */
  readonly isEmpty: boolean;

  constructor({ servers, features }: Pick<SettingsOfFeatures, "servers" | "features">) {
    const settings = (features.results as ResultsSettings | undefined) ?? DEFAULTS;
    this.settings = settings;
    const each = servers.map(({ name, features: own }): [string, ServerBudgets] => [
      name,
      budgetsOf(settings, own.results as ServerResultsSettings | undefined),
    ]);
    this.#servers = new Map(each);
    this.isEmpty = each.every(
      ([, { usual, tools }]) =>
        usual === undefined && [...tools.values()].every((budget) => budget === undefined),
    );
  }

  /** Whether the config says something of the tool's budget: one, or that there is none. */
  decides(server: string, tool: string): boolean {
    const budgets = this.#servers.get(server);
    return budgets !== undefined && (budgets.isDecided || budgets.tools.has(tool));
  }

  /** @param tool the server's own name; undefined if its results have none */
  of(server: string, tool: string): Budget | undefined {
    const budgets = this.#servers.get(server);
    if (budgets === undefined) return undefined;
    const { usual, tools } = budgets;
    return tools.has(tool) ? tools.get(tool) : usual;
  }
}

function budgetsOf(settings: ResultsSettings, own: ServerResultsSettings | undefined): ServerBudgets {
  const budget = (tokens: number | "off" | undefined): Budget | undefined =>
    tokens === undefined || tokens === "off"
      ? undefined
      : {
          characters: tokens * CHARACTERS_PER_TOKEN,
          keepMs: own?.keepMs ?? settings.keepMs,
          serverBytes: own?.maxBytes,
        };
  const usual = own?.maxTokens ?? settings.maxTokens;
  return {
    isDecided: usual !== undefined,
    usual: budget(usual),
    tools: new Map(Object.entries(own?.tools ?? {}).map(([tool, tokens]) => [tool, budget(tokens)])),
  };
}
