/**
 * Machines: network namespaces behind one bridge, each with its own address. The store has its own address on this
 * side. A partition silently drops packets: the neighbour's hardware address becomes an unused one.
 */
import { execFileSync } from "node:child_process";
import { programs } from "./debian.mjs";

const NOWHERE = "02:00:00:00:00:fe";

/** Why there can be no machines here; undefined where there can. */
export function withoutMachines() {
  if (process.getuid?.() !== 0) return "network namespaces need root";
  try {
    const { ip } = programs("ip");
    const name = `cdp${process.pid}`;
    execFileSync(ip, ["netns", "add", name], { stdio: "pipe" });
    execFileSync(ip, ["netns", "del", name], { stdio: "pipe" });
    return undefined;
  } catch (error) {
    return `the kernel has no network namespaces: ${error.message.split("\n")[0]}`;
  }
}

/** @param {number} count how many */
export function startMachines(count) {
  const { ip } = programs("ip");
  const run = (...words) => execFileSync(ip, words, { stdio: "pipe" });
  const subnet = `10.${200 + (process.pid % 50)}.${Math.floor(process.pid / 50) % 256}`;
  const prefix = `cd${process.pid % 100_000}`;
  const bridge = `${prefix}b`;
  const machines = Array.from({ length: count }, (_, i) => ({
    name: `${prefix}m${i}`,
    host: `${subnet}.${11 + i}`,
    /** What stands before a command that runs there. */
    command: [ip, "netns", "exec", `${prefix}m${i}`],
  }));
  const here = { host: `${subnet}.1`, store: `${subnet}.2` };
  const stop = async () => {
    for (const { name } of machines) {
      try {
        run("netns", "del", name);
      } catch {
        // It was never made.
      }
    }
    run("link", "del", bridge);
  };
  run("link", "add", bridge, "type", "bridge");
  try {
    for (const address of [here.host, here.store]) run("addr", "add", `${address}/24`, "dev", bridge);
    run("link", "set", bridge, "up");
    machines.forEach(({ name, host }, i) => {
      run("netns", "add", name);
      run("link", "add", `${prefix}v${i}`, "type", "veth", "peer", "name", "eth0", "netns", name);
      run("link", "set", `${prefix}v${i}`, "master", bridge, "up");
      run("-n", name, "addr", "add", `${host}/24`, "dev", "eth0");
      run("-n", name, "link", "set", "lo", "up");
      run("-n", name, "link", "set", "eth0", "up");
    });
  } catch (error) {
    void stop();
    throw error;
  }
  const lose = (from, to) =>
    run("-n", from.name, "neigh", "replace", to, "lladdr", NOWHERE, "dev", "eth0", "nud", "permanent");
  const find = (from, to) => run("-n", from.name, "neigh", "del", to, "dev", "eth0");
  return {
    machines,
    ...here,
    /** Nothing that `machine` sends to these addresses arrives, until the result is called. */
    part(machine, addresses) {
      for (const address of addresses) lose(machine, address);
      return () => {
        for (const address of addresses) find(machine, address);
      };
    },
    stop,
  };
}
