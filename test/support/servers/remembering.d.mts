export type Mode = "start" | "late" | "later" | "first" | "call" | "changed" | "never";

export function openRemembering(
  mode: Mode,
  delayMs?: number,
): Promise<{ readonly url: string; stop(): Promise<void> }>;
