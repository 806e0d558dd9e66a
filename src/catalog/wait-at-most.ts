/** Waiting for something, but not for longer than that. */

/** Resolves when `promise` does or after `ms`, whichever is first; `promise` must not reject. */
export async function waitAtMost(promise: Promise<unknown>, ms: number): Promise<void> {
  if (ms <= 0) return;
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  try {
    await Promise.race([promise, patience]);
  } finally {
    clearTimeout(timer);
  }
}
