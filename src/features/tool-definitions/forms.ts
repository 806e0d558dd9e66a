/** The forms that the settings of a config mean: shorter definitions of a server, and schemas for models at a URL. */
import type { SettingsOfFeatures } from "../../core/feature.js";
import type { EndpointForm, ToolForms } from "../../core/tool-forms.js";
import type { SchemaDialect } from "./dialects/families.js";
import { dialectForm } from "./dialects/reshaped-tools.js";
import type { DefinitionSettings, Dialect } from "./section.js";
import { type Shortening, shortenTool } from "./shortened-tools.js";

/** Undefined where the definitions of no tool change. */
export function definitionForms(config: SettingsOfFeatures): ToolForms | undefined {
  const shortened = new Map(
    config.servers.flatMap(({ name, features }) => {
      const shortening = shorteningOf(features, config.features);
      return shortening === undefined ? [] : [[name, shortening] as const];
    }),
  );
  if (shortened.size === 0 && !namesDialect(config)) return undefined;
  const forms = new Map<SchemaDialect, EndpointForm>();
  return {
    ofServer(server) {
      const shortening = shortened.get(server);
      return shortening && ((item, isOwnDescription) => shortenTool(item, shortening, isOwnDescription));
    },
    atEndpoint(endpoint) {
      const dialect = dialectAt(config, endpoint);
      if (dialect === "none") return undefined;
      const form = forms.get(dialect) ?? dialectForm(dialect);
      forms.set(dialect, form);
      return form;
    },
  };
}

/** How the definitions of a server are shortened; what it does not say is as at the top level. Undefined if they are not. */
export function shorteningOf(own: DefinitionSettings, gateway: DefinitionSettings): Shortening | undefined {
  const descriptions = own.descriptions ?? gateway.descriptions;
  const compactSchemas = own.schemas?.compact ?? gateway.schemas?.compact ?? false;
  if (descriptions === undefined && !compactSchemas) return undefined;
  return { ...(descriptions !== undefined && { descriptionLength: descriptions.maxLength }), compactSchemas };
}

/** The family of models that the input schemas at a URL are for. */
export function dialectAt({ servers, profiles, features }: SettingsOfFeatures, endpoint: string): Dialect {
  const all = dialectIn(features) ?? "none";
  if (endpoint === "") return all;
  const own = Object.hasOwn(profiles, endpoint)
    ? profiles[endpoint]
    : servers.find(({ name }) => name === endpoint);
  return (own && dialectIn(own.features)) ?? all;
}

const dialectIn = ({ schemas }: DefinitionSettings): Dialect | undefined => schemas?.dialect;

/** Whether a URL may have another dialect than none. */
const namesDialect = ({ servers, profiles, features }: SettingsOfFeatures): boolean =>
  [features, ...[...servers, ...Object.values(profiles)].map((each) => each.features)].some(
    (settings) => (dialectIn(settings) ?? "none") !== "none",
  );
