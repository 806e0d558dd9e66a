/** How does a typed array become larger? */

/** `larger`, which begins with what is in `array`. */
export function resized<Numbers extends Uint32Array | Float32Array | Float64Array>(
  array: Numbers,
  larger: Numbers,
): Numbers {
  larger.set(array);
  return larger;
}
