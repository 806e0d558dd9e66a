/** In which forms may a value stand in a text? As it is, percent-encoded, escaped as in JSON, and within Base64. */
import { writeJson } from "../../wire/json-text.js";

/** Longer values (characters) are not sought within Base64: tokens of that length are Base64 themselves. */
const MAX_ENCODED = 512;

/** The forms of a value, each as long as the value or longer. */
export function formsOf(value: string): readonly string[] {
  const forms = new Set([value, percentEncoded(value), writeJson(value).slice(1, -1)]);
  if (value.length <= MAX_ENCODED)
    for (const before of [0, 1, 2] as const) {
      const form = withinBase64(value, before);
      forms.add(form).add(form.replaceAll("+", "-").replaceAll("/", "_"));
    }
  return [...forms];
}

function percentEncoded(value: string): string {
  try {
    return encodeURIComponent(value);
  } catch {
    // A lone surrogate has no such form.
    return value;
  }
}

/**
 * What the Base64 of every text has that has the value behind `before` bytes, or `before` and any multiple of three: that of
 * `user:value`, too. Characters that depend on what stands around the value are left out.
 */
function withinBase64(value: string, before: 0 | 1 | 2): string {
  const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(value)]);
  const first = before === 0 ? 0 : before + 1;
  return bytes.toString("base64").slice(first, Math.floor((bytes.length * 8) / 6));
}
