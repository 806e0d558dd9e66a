/** Reads the files that a config names in `${file:…}`, `envFile` and `spec`, with a bound for each and for all of them. */
import { resolve } from "node:path";
import { readTextFileSync, TextFileError } from "./text-file.js";

/** The text of a file, by a path relative to the config's folder; throws when it cannot be read. */
export type ReadNamedFile = (path: string, maxBytes?: number) => string;

/** The largest value or env file (bytes): a secret, a certificate, a list of variables. */
const MAX_VALUE_BYTES = 1_048_576;
/** All files of one config together (characters). */
const MAX_ALL = 134_217_728;

/** Reads files below or outside `folder`; by `read` with absolute paths. Default: from the disk. */
export function namedFiles(folder: string, read: ReadNamedFile = readTextFileSync): ReadNamedFile {
  let left = MAX_ALL;
  return (path, maxBytes = MAX_VALUE_BYTES) => {
    if (left > 0) {
      const text = read(resolve(folder, path), maxBytes);
      left -= text.length;
      if (left >= 0) return text;
    }
    throw new TextFileError("the files that this config names have more than 128 MiB together");
  };
}
