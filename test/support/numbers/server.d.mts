import type { Answer } from "../server/http.mjs";

export function numbersServer(era: "legacy" | "modern", untagged: readonly string[]): Answer;
