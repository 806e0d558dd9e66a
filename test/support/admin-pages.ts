/** The pages of an admin listener, by path. */
import type { AdminPage, PageHandler } from "../../src/core/admin-page.js";

/** As a listener loads them. */
export const pagesOf =
  (handlers: Readonly<Record<string, PageHandler>>) => async (): Promise<readonly AdminPage[]> =>
    Object.entries(handlers).map(([path, handler]) => ({
      ...{ path, handler, summary: "", answerSchema: () => ({}) },
    }));
