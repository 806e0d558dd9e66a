import type { Json } from "../../test/support/peers/host.js";
import type { Files } from "./fixture.mjs";

export interface Question {
  readonly ask: string;
  readonly steps: readonly unknown[];
  readonly answer: RegExp;
}
export const OWN_CASES: readonly {
  readonly tool: string;
  readonly kind: string;
  readonly args: (files: Files) => Json;
  readonly questions: readonly Question[];
}[];
