/** Which version of a Python package is the newest? Asked by uv, which knows the age of versions, or else by pip. */
import { type ChildPlace, outputOf } from "./child-output.js";

/** Undefined if neither program is there, or knows one. `spec`: what chooses the version. */
export async function newestPython(
  name: string,
  spec: string,
  before: string | undefined,
  place: ChildPlace,
): Promise<string | undefined> {
  const range = spec.startsWith("@") ? "" : spec;
  const newer = before === undefined ? [] : ["--exclude-newer", before];
  const options = ["--no-deps", "--no-header", "--no-annotate", "--quiet", ...newer];
  const uv = await outputOf("uv", ["pip", "compile", ...options, "-"], place, `${name}${range}\n`);
  const compiled = /^[\w.-]+==(\S+)$/m.exec(uv.stdout)?.[1];
  if (compiled !== undefined) return compiled;
  // pip before 26 knows no ages.
  if (range !== "") return undefined;
  const pip = await outputOf("python3", ["-m", "pip", "index", "versions", "--", name], place);
  return pip.ok ? /^\S+ \(([^\s()]+)\)/m.exec(pip.stdout)?.[1] : undefined;
}
