/** The import statements of the source tree, as they stand in the files. */
import { readdirSync, readFileSync } from "node:fs";
import { join, posix, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { init, parse } from "es-module-lexer";

await init();

const root = fileURLToPath(new URL("../..", import.meta.url));

export interface Import {
  /** The importing file, relative to `src`, with its `.ts`. */
  readonly file: string;
  /** The imported file in the same form, or the bare name of a package. */
  readonly target: string;
  /** A statement that the compiler erases. */
  readonly typeOnly: boolean;
  /** `import()`, which loads the file when it runs. */
  readonly dynamic: boolean;
}

/** Every TypeScript file below `folder`, by its path in it. */
export function filesOf(folder: string): readonly { readonly file: string; readonly text: string }[] {
  const base = join(root, folder);
  return readdirSync(base, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts"))
    .map((path) => ({ file: path.split(sep).join("/"), text: readFileSync(join(base, path), "utf8") }));
}

/** Every import and re-export of every TypeScript file below `folder`, dynamic ones included. */
export function importsOf(folder: string): readonly Import[] {
  return filesOf(folder).flatMap(({ file, text }) => readImports(file, text));
}

/** The imports of one file of TypeScript. */
export function readImports(file: string, text: string): readonly Import[] {
  const [statements] = parse(text, file);
  return statements.flatMap((statement): Import[] => {
    if (typeof statement.specifier !== "string") return [];
    const { specifier } = statement;
    const typeOnly = statement.type === "static" && statement.typeOnly;
    const dynamic = statement.type !== "static";
    const target = specifier.startsWith(".")
      ? posix.join(posix.dirname(file), specifier).replace(/\.js$/, ".ts")
      : specifier;
    return [{ file, target, typeOnly, dynamic }];
  });
}
