import type { Json } from "../peers/host.js";

interface Question {
  readonly method: string;
  readonly params: Json;
}
export const SAMPLING: Question;
export const SAMPLING_WITH_TOOLS: Question;
export const FORM: Question;
export const RESOURCES: readonly string[];
export const SECRET: string;
