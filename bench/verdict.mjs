/**
 * Is one build faster than another, or is that the noise of the machine? Two processes of each build run side by side in each set, so each
 * set has two ratios of a build to itself: their spread is the noise, and a difference within it has no name.
 */

/** Student's t for 95 % on both sides, by degrees of freedom: few sets need a wider margin. */
const T95 = [Number.POSITIVE_INFINITY, 12.71, 4.3, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23];
/** A smaller difference is none, however quiet the machine. */
const LEAST = 0.01;

const mean = (numbers) => numbers.reduce((sum, number) => sum + number, 0) / numbers.length;

/** The types stand in verdict.d.mts. */
export function verdict(sets) {
  const log = (pair) => Math.log(pair[1] / pair[0]);
  const changes = sets.map(({ before, now }) => Math.log(mean(now) / mean(before)));
  const selves = sets.flatMap(({ before, now }) => [log(before), log(now)]);
  // A ratio of two processes varies twice as much as one of the means of two.
  const spread = Math.sqrt(mean(selves.map((self) => self ** 2)) / 2);
  const t = T95[Math.min(selves.length, T95.length - 1)];
  const noise = Math.max(LEAST, (t * spread) / Math.sqrt(sets.length));
  const change = Math.expm1(mean(changes));
  const word = Math.abs(change) <= noise ? "no difference" : change > 0 ? "slower" : "faster";
  return { change, noise, word };
}
