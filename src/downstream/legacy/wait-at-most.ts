/** Waits for `work`, but no longer than `ms` (0: not at all). What it rejects with is passed on if it comes in time. */
export async function waitAtMost(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    if (ms > 0) timer = setTimeout(resolve, ms);
    else resolve();
  });
  await Promise.race([work, late]).finally(() => clearTimeout(timer));
}
