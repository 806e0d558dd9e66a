/** How much of the processor's time something takes: the same however busy the machine is with others. */

/** In ms, of all threads of this process while `work` was under way. */
export function processorTime(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
