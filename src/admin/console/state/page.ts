/** A page that one view reads for itself. */
import { useEffect, useState } from "preact/hooks";
import { getPage } from "./api.js";

/** The page as far as it was read. */
export interface PageState<Page> {
  readonly page: Page | undefined;
  readonly trouble: string | undefined;
}

/**
 * Reads `/api/v1/NAME` when the component appears, and again when `name` or `version` changes.
 * The page before stays until the next is there, so that nothing jumps.
 */
export function usePage<Page>(name: string, version: string | number = ""): PageState<Page> {
  const [state, setState] = useState<PageState<Page>>({ page: undefined, trouble: undefined });
  // A new version is another page of the same name.
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
