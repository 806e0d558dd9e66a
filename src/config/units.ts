/** Durations and rates as people write them: `30s`, `10/min`. */

const MILLISECONDS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
const RATE_WINDOWS_MS: Readonly<Record<string, number>> = {
  s: 1_000,
  min: 60_000,
  h: 3_600_000,
  day: 86_400_000,
};

const DURATION = /^(\d{1,10})(ms|s|m|h)$/;
const RATE = /^(\d{1,10})\/(s|min|h|day)$/;

/** A timer of Node's fires at once when it is set for longer than this. */
export const MAX_DURATION_MS = 2_147_483_647;

/** Milliseconds; `undefined` when `text` is no duration, is zero, or is longer than a timer can run. */
export function parseDuration(text: string): number | undefined {
  const [, amount, unit] = DURATION.exec(text) ?? [];
  if (amount === undefined || unit === undefined) return undefined;
  const ms = Number(amount) * (MILLISECONDS[unit] ?? 0);
  return ms > 0 && ms <= MAX_DURATION_MS ? ms : undefined;
}

/** As `parseDuration`; zero is a wait too. */
export function parseWait(text: string): number | undefined {
  return /^0{1,10}(ms|s|m|h)$/.test(text) ? 0 : parseDuration(text);
}

/** `count` per window. */
export interface Rate {
  readonly count: number;
  readonly windowMs: number;
}

/** `undefined` when `text` is no rate, or allows nothing. */
export function parseRate(text: string): Rate | undefined {
  const [, amount, unit] = RATE.exec(text) ?? [];
  if (amount === undefined || unit === undefined) return undefined;
  const count = Number(amount);
  return count > 0 ? { count, windowMs: RATE_WINDOWS_MS[unit] ?? 0 } : undefined;
}

const BYTES: Readonly<Record<string, number>> = { MB: 1_000_000, GB: 1_000_000_000 };
const SIZE = /^(\d{1,6})(MB|GB)$/;
const MAX_SIZE = 1_000_000_000_000;

/** Bytes; `undefined` when `text` is no size, is zero, or is above 1000GB. */
export function parseSize(text: string): number | undefined {
  const [, amount, unit] = SIZE.exec(text) ?? [];
  const bytes = Number(amount ?? 0) * (BYTES[unit ?? ""] ?? 0);
  return bytes > 0 && bytes <= MAX_SIZE ? bytes : undefined;
}
