/** Grows a typed array. */

/** `larger`, starting with the content of `array`. */
export function resized<Numbers extends Uint32Array | Float32Array | Float64Array>(
  array: Numbers,
  larger: Numbers,
): Numbers {
  larger.set(array);
  return larger;
}
