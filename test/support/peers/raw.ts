/** Hosts of the host library at a URL, on a wire, or at the other end of a new process. */
import { type Era, Host, type HostOptions, type Wire } from "../host/host.mjs";
import { pipeWire } from "../host/wires.mjs";
import { type Started, start } from "../processes.js";
import type { HostKind, Place } from "./host.js";

export type { Host as RawHost, HostOptions as RawOptions } from "../host/host.mjs";

export interface ProcessWire extends Wire {
  readonly process: Started;
  /** Lines on stdout that were no JSON; there must never be any. */
  readonly junk: readonly string[];
}

/** A wire to the standard streams of a new process; `close` ends its input and waits until it is gone. */
export function processWire(place: Extract<Place, { command: string }>): ProcessWire {
  const process = start(place.command, place.args, {
    env: { PATH: globalThis.process.env.PATH, HOME: globalThis.process.env.HOME, ...place.env },
  });
  const { stdin, stdout } = process.child;
  const wire = pipeWire(stdin, stdout);
  void process.exited.then(() => wire.fail(new Error(`the process ended: ${process.stderr()}`)));
  // A process that is gone is noticed by its exit; writing to it then is no failure of its own.
  stdin.on("error", () => {});
  const close = async (): Promise<void> => {
    stdin.end();
    const kill = setTimeout(() => process.child.kill("SIGKILL"), 60_000);
    await process.exited.finally(() => clearTimeout(kill));
  };
  return Object.assign(wire, { process, close });
}

const openers =
  (era: Era) =>
  async (at: Place | Wire, options: HostOptions = {}): Promise<Host> => {
    const over = "exchange" in at ? at : "url" in at ? at.url : processWire(at);
    return (await new Host(over, era, options).open()).discover();
  };
export const openLegacy = openers("legacy");
export const openModern = openers("modern");

export const RAW_LEGACY: HostKind = {
  name: "raw legacy",
  era: "legacy",
  connect: (place) => openLegacy(place),
};
export const RAW_MODERN: HostKind = {
  name: "raw modern",
  era: "modern",
  connect: (place) => openModern(place),
};
