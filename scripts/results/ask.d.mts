import type { Json } from "../../test/support/peers/host.js";
import type { Question } from "./own-cases.mjs";

export class Unanswered extends Error {}
export type RequestResult = (method: string, params: Json) => Promise<Json>;
export const WAYS: Readonly<Record<string, unknown>>;
export function readableOf(result: Json): string;
export function idIn(result: Json): string | undefined;
export function sizeOf(result: Json): number;
export function asked(
  request: RequestResult,
  way: string,
  about: { readonly id: string | undefined; readonly preview: string; readonly question: Question },
): Promise<number>;
