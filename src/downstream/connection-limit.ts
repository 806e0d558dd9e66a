/** How many connections a listener may hold, so that descriptors are left for servers, files and the log. */
import { readFileSync } from "node:fs";

/** More than ten thousand streams and the calls beside them would need other machines anyway. */
const MAX_CONNECTIONS = 20_000;
/** What servers need besides: connections and pipes for as many calls as can sensibly be under way at once. */
const UPSTREAM_RESERVE = 1_500;

/** @param descriptors how many the process may have open. Default: what the system says. */
export function connectionLimit(descriptors = descriptorLimit()): number {
  // Up to half of them where there are few (each call may need one on either side), and a quarter at least.
  const reserve = Math.max(descriptors / 4, Math.min(descriptors / 2, UPSTREAM_RESERVE));
  return Math.max(1, Math.min(MAX_CONNECTIONS, Math.floor(descriptors - reserve)));
}

function descriptorLimit(): number {
  try {
    const line = /^Max open files +(\d+|unlimited)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
    return line === undefined || line === "unlimited" ? Number.MAX_SAFE_INTEGER : Number(line);
  } catch {
    // No such file: not Linux.
    return reportedLimit();
  }
}

/** Node raises the soft limit to the hard one where it can, and tells in its report what came of it. */
function reportedLimit(): number {
  const report: unknown = process.report?.getReport();
  const limits = memberOf(memberOf(report, "userLimits"), "open_files");
  const soft = memberOf(limits, "soft");
  return typeof soft === "number" ? soft : Number.MAX_SAFE_INTEGER;
}

const memberOf = (value: unknown, key: string): unknown =>
  typeof value === "object" && value !== null && Object.hasOwn(value, key)
    ? Reflect.get(value, key)
    : undefined;
