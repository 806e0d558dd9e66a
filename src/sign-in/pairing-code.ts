/** A code that a person reads off a page and types elsewhere. */
import { randomInt } from "node:crypto";

/** Without letters and digits that look alike. */
const ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
const LENGTH = 8;

/** A code of 40 random bits, such as `K7QM-2XWP`. */
export function pairingCode(): string {
  const letters = Array.from({ length: LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join("");
  return `${letters.slice(0, LENGTH / 2)}-${letters.slice(LENGTH / 2)}`;
}

/** The code that a person has typed, as it was shown. */
export function readPairingCode(text: string): string {
  const letters = text.toUpperCase().replace(/[^A-Z0-9]/g, "");
  return `${letters.slice(0, LENGTH / 2)}-${letters.slice(LENGTH / 2)}`;
}
