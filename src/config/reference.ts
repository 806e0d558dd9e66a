/** The page that documents every key of the config, written from the schema that reads it. */
import { configJsonSchema } from "./json-schema.js";
import type { Section } from "./section.js";

interface Schema {
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly string[];
  readonly pattern?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | false;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, Schema>>;
}

const INTRODUCTION = `# Cardea's config

<!-- Written by scripts/schema.mjs from src/config/schema.ts; a test keeps it true. -->

One file: JSON (comments and trailing commas allowed) or YAML. Search order: \`--config\`,
\`$CARDEA_CONFIG\`, \`./cardea.{jsonc,json,yaml,yml}\`, \`./.mcp.json\`, \`$XDG_CONFIG_HOME/cardea/cardea.{jsonc,json,yaml,yml}\`.
Unknown keys, wrong values and unset variables are named with file, line and column. What concerns one server only makes that server
\`misconfigured\`, and the others serve; anything else, and duplicate keys anywhere, refuses the start.
In config files of hosts (\`.mcp.json\`, \`mcp.json\`, \`claude_desktop_config.json\` …) keys that only the host reads are ignored
with a warning.

**Variables** in text values are expanded once: \`\${VAR}\`, \`\${VAR:-default}\` (also for an empty VAR),
\`\${env:VAR}\`, \`\${file:/run/secrets/x}\`. \`$\${\` is a literal \`\${\`; \`\${$}\` is a literal \`$\`, also before a
variable: \`\${$}\${VAR}\` is \`$\` and the value of VAR.

**Durations** are \`250ms\`, \`30s\`, \`5m\`, \`1h\`; **rates** are \`10/s\`, \`100/min\`, \`1000/h\`, \`10000/day\`; **globs** have \`*\`, \`?\` and \`{a,b}\`.

**Relative paths** (\`cwd\`, \`envFile\`, \`\${file:…}\`, a \`command\` that begins with \`./\`) are resolved in the config file's folder.
`;

/** The reference of all config keys, with those of features, as Markdown. */
export function configReference(ofFeatures: readonly Section[]): string {
  const root = configJsonSchema(ofFeatures) as Schema;
  return `${[INTRODUCTION, ...sections(root, root, [], new Set())].join("\n")}`;
}

/** A table for `schema`, then those of what stands inside it. */
function sections(
  root: Schema,
  schema: Schema,
  path: readonly string[],
  seen: Set<Schema>,
): readonly string[] {
  if (seen.has(schema)) return [];
  seen.add(schema);
  const title = path.length === 0 ? "The file" : `\`${path.join(".")}\``;
  const rows: string[] = [];
  const inner: string[] = [];
  for (const [key, property] of Object.entries(schema.properties ?? {})) {
    const target = resolve(root, property);
    const required = schema.required?.includes(key) === true && target.default === undefined;
    rows.push(...row(key, { ...target, ...property }, required));
    const [child, step] = childOf(root, target);
    if (child === undefined) continue;
    if (isSmall(child) && step === undefined) {
      for (const [name, leaf] of Object.entries(child.properties ?? {}))
        rows.push(...row(`${key}.${name}`, leaf, false));
    } else {
      const next =
        step === "[]" ? [...path, `${key}[]`] : [...path, key, ...(step === undefined ? [] : [step])];
      inner.push(...sections(root, child, next, seen));
    }
  }
  const table = ["| key | what | default | meaning |", "|---|---|---|---|", ...rows].join("\n");
  return [`## ${title}\n\n${table}\n`, ...inner];
}

/** The object inside: itself, what its names map to, or what its list holds. */
function childOf(root: Schema, schema: Schema): [Schema | undefined, string?] {
  if (schema.properties !== undefined) return [schema];
  const variant = schema.anyOf?.map((option) => resolve(root, option)).find(({ properties }) => properties);
  if (variant !== undefined) return [variant];
  if (schema.additionalProperties) {
    const child = resolve(root, schema.additionalProperties);
    return [child.properties && child, "NAME"];
  }
  const child = schema.items && resolve(root, schema.items);
  return [child?.properties && child, "[]"];
}

const isSmall = ({ properties = {} }: Schema): boolean =>
  Object.keys(properties).length <= 2 &&
  Object.values(properties).every(
    (leaf) =>
      leaf.properties === undefined && leaf.items?.properties === undefined && leaf.items?.$ref === undefined,
  );

function row(key: string, schema: Schema, required: boolean): readonly string[] {
  const fallback = required
    ? "needed"
    : schema.default === undefined
      ? ""
      : `\`${JSON.stringify(schema.default)}\``;
  const cells = [
    `\`${key}\``,
    kind(schema),
    fallback.startsWith("`{") ? "" : fallback,
    schema.description ?? "",
  ];
  return [`| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`];
}

function kind(schema: Schema): string {
  if (schema.enum !== undefined) return schema.enum.map((value) => `\`${value}\``).join(", ");
  if (schema.anyOf !== undefined) return [...new Set(schema.anyOf.map(kind))].join(" or ");
  if (schema.pattern?.includes("ms|s|m|h") === true) return "duration";
  if (schema.pattern?.includes("(s|min|h|day)") === true) return "rate";
  const words: Readonly<Record<string, string>> = {
    string: "text",
    integer: "whole number",
    number: "number",
    boolean: "`true`, `false`",
    array: "list",
    object: "object",
  };
  return words[schema.type ?? ""] ?? "object";
}

function resolve(root: Schema, schema: Schema): Schema {
  const name = schema.$ref?.replace("#/$defs/", "");
  return (name === undefined ? undefined : root.$defs?.[name]) ?? schema;
}
