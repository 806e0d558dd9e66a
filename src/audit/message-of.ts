/** What does an error say to an operator? */

/** The message of an error of the system or of ours. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
