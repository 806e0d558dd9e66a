/** The import statements of the source tree, as they stand in the files. */
import { readdirSync, readFileSync } from "node:fs";
import { join, posix, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { init, parse } from "es-module-lexer";

const root = fileURLToPath(new URL("../..", import.meta.url));

export interface Import {
  /** The importing file, relative to `src`, with its `.ts`. */
  readonly file: string;
  /** The imported file in the same form, or the bare name of a package. */
  readonly target: string;
  /** A statement that the compiler erases. */
  readonly typeOnly: boolean;
}

/** Every import and re-export of every TypeScript file below `folder`, dynamic ones included. */
export async function importsOf(folder: string): Promise<readonly Import[]> {
  await init();
  const base = join(root, folder);
  return readdirSync(base, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts"))
    .flatMap((path) => readImports(base, path.split(sep).join("/")));
}

/** The imports of one file of TypeScript. */
export function readImports(base: string, file: string, text = readFileSync(join(base, file), "utf8")) {
  const [statements] = parse(text, file);
  return statements.flatMap((statement): Import[] => {
    if (typeof statement.specifier !== "string") return [];
    const { specifier } = statement;
    const typeOnly = statement.type === "static" && statement.typeOnly;
    if (!specifier.startsWith(".")) return [{ file, target: specifier, typeOnly }];
    return [{ file, target: posix.join(posix.dirname(file), specifier).replace(/\.js$/, ".ts"), typeOnly }];
  });
}
