/** How often has a rule or a limit applied, and when last? */

/** The count of one; a reload continues it where the rule or limit is the same. */
export class Hits {
  count = 0;
  /** Milliseconds since 1970. */
  lastAt: number | undefined;

  add(): void {
    this.count += 1;
    this.lastAt = Date.now();
  }
}
