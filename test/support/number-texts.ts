/** JSON numbers as text, most of them such as JavaScript would write in another way. */
import fc from "./fast-check.js";

const digits = (min: number, max: number) => fc.stringMatching(new RegExp(`^[0-9]{${min},${max}}$`));
const integer = fc.oneof(
  fc.constantFrom("0", "1", "7", "9007199254740993", "18446744073709551616", "1000000000000000000000"),
  digits(0, 24).map((rest) => `3${rest}`),
);
const fraction = fc.oneof(
  fc.constantFrom("", ".0", ".10", ".0000001"),
  digits(1, 24).map((rest) => `.${rest}`),
);
const exponent = fc.oneof(
  fc.constantFrom("", "", "e0", "E5", "e+5", "e-7", "e400", "E-400"),
  digits(1, 4).map((rest) => `e${rest}`),
);

/** Any text that JSON takes for a number (RFC 8259, 6). */
export const numberText = (): fc.Arbitrary<string> =>
  fc.tuple(fc.constantFrom("", "-"), integer, fraction, exponent).map((parts) => parts.join(""));
