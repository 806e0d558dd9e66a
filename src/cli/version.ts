/** The version of this package. */
import { readFileSync } from "node:fs";

/** @throws Error when the package is broken: its package.json is not where it belongs. */
export function packageVersion(): string {
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  const { version } = JSON.parse(text) as { readonly version: string };
  return version;
}
