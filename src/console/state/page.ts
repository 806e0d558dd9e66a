/** Loads an API page for one view. */
import { useEffect, useState } from "preact/hooks";
import { getPage } from "./api.js";

/** The page as loaded so far. */
export interface PageState<Page> {
  readonly page: Page | undefined;
  readonly trouble: string | undefined;
}

/**
 * Reads `/api/v1/NAME` when the component is mounted, and again when `name` or `version` changes. The previous page
 * stays until the next one is loaded, to avoid layout shifts.
 */
export function usePage<Page>(name: string, version: string | number = ""): PageState<Page> {
  const [state, setState] = useState<PageState<Page>>({ page: undefined, trouble: undefined });
  // A new version of the same page.
  useEffect(() => {
    const gone = new AbortController();
    getPage<Page>(name, gone.signal).then(
      (page) => setState({ page, trouble: undefined }),
      (error: Error) => {
        if (!gone.signal.aborted) setState((before) => ({ ...before, trouble: error.message }));
      },
    );
    return () => gone.abort();
  }, [name, version]);
  return state;
}
