/**
 * Loaded into the gateway's process by `node --import`, never by the program itself: on request of the script that
 * started it, it collects garbage and reports the heap size, holds ballast, sets the clock, and replaces the name
 * server.
 */
import dns from "node:dns";
import { syncBuiltinESMExports } from "node:module";
import { getHeapCodeStatistics, getHeapSpaceStatistics } from "node:v8";

let ballast = [];
const names = new Map();

const lookup = dns.lookup;
dns.lookup = (name, options, done) => {
  const entry = names.get(name);
  const callback = typeof options === "function" ? options : done;
  if (entry === undefined) return lookup(name, options, done);
  setImmediate(() => {
    if (entry.error !== undefined)
      return callback(Object.assign(new Error(entry.error), { code: entry.error }));
    if (options?.all) callback(null, [{ address: entry.address, family: 4 }]);
    else callback(null, entry.address, 4);
  });
};
syncBuiltinESMExports();

/** The clock that people set; the monotonic one cannot be moved. */
const RealDate = Date;
let moved = 0;
globalThis.Date = class extends RealDate {
  constructor(...args) {
    super(...(args.length === 0 ? [RealDate.now() + moved] : args));
  }
  static now() {
    return RealDate.now() + moved;
  }
};

const jobs = {
  clock({ ms }) {
    moved = ms;
    return {};
  },
  heap() {
    for (let round = 0; round < 3; round += 1) globalThis.gc();
    const { heapUsed, external, arrayBuffers, rss } = process.memoryUsage();
    const { code_and_metadata_size: code, bytecode_and_metadata_size: bytecode } = getHeapCodeStatistics();
    const oldUsed = getHeapSpaceStatistics()
      .filter(({ space_name: name }) => !name.startsWith("new_") && name !== "read_only_space")
      .reduce((sum, { space_used_size: used }) => sum + used, 0);
    return { heapUsed, oldUsed, external, arrayBuffers, rss, code: code + bytecode };
  },
  /** Holds this number of MiB of objects in the old space; 0 releases them. */
  ballast({ mib }) {
    ballast = [];
    const each = 131_072 / 8;
    for (let i = 0; i < mib * 8; i += 1) ballast.push(new Array(each).fill(i + 0.5));
    return {};
  },
  names({ entries }) {
    names.clear();
    for (const [name, entry] of Object.entries(entries)) names.set(name, entry);
    return {};
  },
};

process.on("message", ({ job, id, ...rest }) => {
  process.send({ id, ...jobs[job](rest) });
});
process.channel?.unref();
