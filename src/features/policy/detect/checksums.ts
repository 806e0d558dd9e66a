/** Which check digits do tokens and numbers carry? */
import { crc32 } from "node:zlib";

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** Whether the last six characters are the CRC-32 of those before, in base 62 (tokens of GitHub and npm). */
export function hasBase62Checksum(body: string): boolean {
  let rest = crc32(body.slice(0, -6));
  let digits = "";
  for (let at = 0; at < 6; at++) {
    digits = BASE62.charAt(rest % 62) + digits;
    rest = Math.floor(rest / 62);
  }
  return digits === body.slice(-6);
}

/** Whether the last eight characters are the CRC-32 of `head`, in hexadecimal digits (tokens of Grafana). */
export const hasHexChecksum = (head: string, digits: string): boolean =>
  crc32(head).toString(16).padStart(8, "0") === digits.toLowerCase();

/** The check of card numbers (ISO/IEC 7812-1). @param digits decimal digits only */
export function passesLuhn(digits: string): boolean {
  let sum = 0;
  for (let at = digits.length - 1, isSecond = false; at >= 0; at--, isSecond = !isSecond) {
    const digit = digits.charCodeAt(at) - 48;
    sum += isSecond ? (digit > 4 ? 2 * digit - 9 : 2 * digit) : digit;
  }
  return sum % 10 === 0;
}

/** The check of account numbers (ISO 13616, ISO 7064 MOD 97-10). @param iban capital letters and digits only */
export function passesMod97(iban: string): boolean {
  let rest = 0;
  const turned = iban.slice(4) + iban.slice(0, 4);
  for (let at = 0; at < turned.length; at++) {
    const code = turned.charCodeAt(at);
    rest = code < 58 ? (rest * 10 + code - 48) % 97 : (rest * 100 + code - 55) % 97;
  }
  return rest === 1;
}
