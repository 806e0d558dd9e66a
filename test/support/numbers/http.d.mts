export function startNumbers(
  era: "legacy" | "modern",
  numbers: readonly string[],
): Promise<{ readonly url: string; stop(): Promise<void> }>;
