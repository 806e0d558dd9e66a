/** How is the CEL library loaded? With the first rule that needs it: it is large, and most configs have no such rule. */
import { createRequire } from "node:module";
import type * as Cel from "@bufbuild/cel";
import type * as Extensions from "@bufbuild/cel/ext";

/** What of CEL is used. */
export interface Library {
  readonly cel: typeof Cel;
  readonly strings: typeof Extensions.strings;
}

const require = createRequire(import.meta.url);

/** Reads from disk synchronously: rules are compiled before the first call. */
export function loadLibrary(): Library {
  const cel = require("@bufbuild/cel") as typeof Cel;
  const { strings } = require("@bufbuild/cel/ext") as typeof Extensions;
  return { cel, strings };
}

/** An expression that can never be evaluated; the message is for its author. */
export class ExpressionError extends Error {
  override readonly name = "ExpressionError";
}
