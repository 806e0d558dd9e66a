import type { Wire } from "./wires.mjs";

export function sseWire(url: string, headers?: Readonly<Record<string, string>>): Promise<Wire>;
