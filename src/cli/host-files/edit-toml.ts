/** Changes one table of a TOML file, as used by Codex; all other text stays byte for byte. */
import { createRequire } from "node:module";
import { isDeepStrictEqual } from "node:util";
import { EditError } from "./edit.js";

const require = createRequire(import.meta.url);

type Tables = Readonly<Record<string, unknown>>;

/**
 * The text with the table `[table.name]` set to `value`; `undefined` removes it. A new table is appended.
 *
 * @throws EditError if the text is not TOML, or the table is written in an unsupported form
 */
export function editToml(text: string, table: string, name: string, value: Tables | undefined): string {
  const before = parsed(text);
  const eol = text.includes("\r\n") ? "\r\n" : "\n";
  const sections = sectionsOf(text, table, name);
  const section = value === undefined ? "" : tableText(table, name, value).replaceAll("\n", eol);
  const first = sections[0];
  const edited =
    first === undefined && value !== undefined
      ? text + gapBefore(text, eol) + section
      : sections.reduceRight(
          (left, { from, to }) =>
            left.slice(0, from) + (from === first?.from ? section : "") + left.slice(to),
          text,
        );
  if (!isDeepStrictEqual(plain(parsed(edited)), plain(withTable(before, table, name, value))))
    throw new EditError(NOT_EDITABLE);
  return edited;
}

const NOT_EDITABLE = "it is written in a way that cannot be edited without changing other parts of it";

interface Section {
  readonly from: number;
  readonly to: number;
}

/** The lines of the table and its subtables, each from its header to its last non-blank line. */
function sectionsOf(text: string, table: string, name: string): readonly Section[] {
  const key = (word: string): string => {
    const escaped = word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    return `(?:${escaped}|"${escaped}"|'${escaped}')`;
  };
  const header = new RegExp(`^[ \\t]*\\[[ \\t]*${key(table)}[ \\t]*\\.[ \\t]*${key(name)}[ \\t]*[.\\]]`);
  const sections: { from: number; to: number }[] = [];
  let current: { from: number; to: number } | undefined;
  let at = 0;
  for (const line of text.split(/(?<=\n)/)) {
    if (/^[ \t]*\[/.test(line)) {
      const before: { from: number; to: number } | undefined = current;
      current = header.test(line) ? (before ?? { from: at, to: at }) : undefined;
      if (current !== undefined && current !== before) sections.push(current);
    }
    at += line.length;
    // Blank lines and comments at the end belong to what follows.
    if (current !== undefined && !/^[ \t]*(?:#.*)?\r?\n?$/.test(line)) current.to = at;
  }
  return sections;
}

/** `value` as the table `[table.name]`. */
export function tableText(table: string, name: string, value: Tables): string {
  const { stringify } = require("smol-toml") as typeof import("smol-toml");
  return `${stringify({ [table]: { [name]: value } }).trim()}\n`;
}

const gapBefore = (text: string, eol: string): string =>
  text === "" ? "" : text.endsWith("\n") ? eol : eol + eol;

/** The parser's objects have no prototype, which a deep comparison would treat as a difference. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null || value instanceof Date) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, plain(inner)]));
}

function parsed(text: string): Tables {
  const { parse } = require("smol-toml") as typeof import("smol-toml");
  try {
    return parse(text);
  } catch (error) {
    throw new EditError("it is not valid TOML", { cause: error });
  }
}

function withTable(before: Tables, table: string, name: string, value: Tables | undefined): Tables {
  const owner = before[table];
  const { [name]: _, ...others } = (typeof owner === "object" && owner !== null ? owner : {}) as Tables;
  const tables = value === undefined ? others : { ...others, [name]: value };
  const isGone = value === undefined && Object.keys(tables).length === 0;
  const { [table]: __, ...rest } = before;
  return isGone ? rest : { ...before, [table]: tables };
}
