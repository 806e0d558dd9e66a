/** Ages of versions, as people read them. */

const UNITS = [
  { ms: 86_400_000, word: "day" },
  { ms: 3_600_000, word: "hour" },
  { ms: 60_000, word: "minute" },
] as const;

/** `3 days`, `1 hour`. */
export function ageText(ms: number): string {
  const { ms: unit, word } = UNITS.find((each) => ms >= each.ms) ?? UNITS[2];
  const count = Math.max(0, Math.floor(ms / unit));
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}

/** The newest of the versions that are at least `minAgeMs` old, no pre-release if there is another; undefined if none is. */
export function newestOldEnough(
  times: ReadonlyMap<string, number>,
  minAgeMs: number,
  now: number,
): string | undefined {
  const old = [...times].filter(([, at]) => now - at >= minAgeMs).toSorted(([, a], [, b]) => b - a);
  return (old.find(([version]) => !version.includes("-")) ?? old[0])?.[0];
}
