/** Pages of docs/, and the tables in them. */
import { readFileSync } from "node:fs";
import { inRepository } from "./cardea.js";

export const docsPage = (name: string): string => readFileSync(inRepository(`docs/${name}.md`), "utf8");

/** The words in code of the first column of a section's tables. */
export function firstColumn(text: string, heading: string): readonly string[] {
  const from = text.indexOf(`\n## ${heading}\n`);
  const section = text.slice(from + 4).split(/\n## /, 1)[0] ?? "";
  return section
    .split("\n")
    .filter((line) => line.startsWith("|"))
    .flatMap((line) => [...(line.split("|")[1] ?? "").matchAll(/`([^`]+)`/g)].map(([, word = ""]) => word));
}
