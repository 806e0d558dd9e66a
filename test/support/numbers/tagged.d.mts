export function readTagged(text: string): unknown;
export function writeTagged(value: unknown): string;
