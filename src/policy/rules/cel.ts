/** The CEL library. It is large, so it is loaded when the first rule needs it; most gateways have no such rule. */
import { createRequire } from "node:module";
import type * as Cel from "@bufbuild/cel";
import type * as Extensions from "@bufbuild/cel/ext";

export interface Library {
  readonly cel: typeof Cel;
  readonly strings: typeof Extensions.strings;
}

const require = createRequire(import.meta.url);

/** Waits for the disk: rules are compiled before anybody calls. */
export function loadLibrary(): Library {
  const cel = require("@bufbuild/cel") as typeof Cel;
  const { strings } = require("@bufbuild/cel/ext") as typeof Extensions;
  return { cel, strings };
}
