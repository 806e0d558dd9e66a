/** Which formats of strings are checked (JSON Schema 2020-12, "Defined Formats")? Every other one is an annotation. */
import { isIPv4, isIPv6 } from "node:net";

type IsFormat = (text: string) => boolean;

const matches =
  (pattern: RegExp): IsFormat =>
  (text) =>
    pattern.test(text);

const FORMATS: ReadonlyMap<string, IsFormat> = new Map<string, IsFormat>([
  ["date-time", isDateTime],
  ["date", isDate],
  ["time", isTime],
  ["email", isEmail],
  ["hostname", isHostname],
  ["ipv4", isIPv4],
  ["ipv6", (text) => isIPv6(text) && !text.includes("%")],
  ["uri", matches(/^[a-z][a-z0-9+.-]*:(?:[^\s\\^<>"{}|`%]|%[0-9a-f]{2})*$/i)],
  ["uri-reference", matches(/^(?:[^\s\\^<>"{}|`%]|%[0-9a-f]{2})*$/i)],
  ["uuid", matches(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i)],
  ["json-pointer", matches(/^(?:\/(?:[^~/]|~[01])*)*$/)],
]);

/** Undefined for a format that is an annotation only. The test takes time linear in the text. */
export const formatTest = (name: string): IsFormat | undefined => FORMATS.get(name);

const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** RFC 3339, 5.6: full-date. */
function isDate(text: string): boolean {
  const [, year = "", month = "", day = ""] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text) ?? [];
  const leap = Number(year) % 4 === 0 && (Number(year) % 100 !== 0 || Number(year) % 400 === 0);
  const days = month === "02" && leap ? 29 : DAYS[Number(month) - 1];
  return days !== undefined && Number(day) >= 1 && Number(day) <= days;
}

/** RFC 3339, 5.6: full-time; a leap second is valid only where UTC is 23:59. */
function isTime(text: string): boolean {
  const found = /^(\d\d):(\d\d):(\d\d)(?:\.\d{1,30})?(?:z|([+-])(\d\d):(\d\d))$/i.exec(text);
  if (found === null) return false;
  const [, hour, minute, second, sign, offsetHour = 0, offsetMinute = 0] = found;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 60) return false;
  if (Number(offsetHour) > 23 || Number(offsetMinute) > 59) return false;
  if (Number(second) < 60) return true;
  const offset = (Number(offsetHour) * 60 + Number(offsetMinute)) * (sign === "-" ? -1 : 1);
  const utc = (Number(hour) * 60 + Number(minute) - offset + 2 * 1440) % 1440;
  return utc === 1439;
}

function isDateTime(text: string): boolean {
  return /^.{10}t/i.test(text) && isDate(text.slice(0, 10)) && isTime(text.slice(11));
}

function isEmail(text: string): boolean {
  const at = text.lastIndexOf("@");
  return at > 0 && LOCAL_PART.test(text.slice(0, at)) && isHostname(text.slice(at + 1));
}

/** RFC 5321, 4.1.2: Dot-string; quoted local parts are not valid here. */
const LOCAL_PART = /^[a-z0-9!#$%&'*+/=?^_`{|}~-]{1,64}(?:\.[a-z0-9!#$%&'*+/=?^_`{|}~-]{1,64}){0,31}$/i;

function isHostname(text: string): boolean {
  if (text.length > 253) return false;
  return text.split(".").every((label) => /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i.test(label));
}
