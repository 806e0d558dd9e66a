/** The live list of the last calls. */

import type { CallRow } from "../../features/admin/rows.js";
import { access, getPage, send } from "./api.js";
import { readEvents } from "./event-stream.js";
import { gateway } from "./gateway.js";
import { hasPage } from "./gateway-state.js";
import { Store } from "./store.js";

/** The number of calls that the page keeps. */
const KEPT = 500;
const RETRY_MS = 3_000;
/** Calls of one animation frame are drawn together. */
const FRAME_MS = 200;

/** Newest first. `isLive` while the stream is open. */
export const calls = new Store<{ readonly rows: readonly CallRow[]; readonly isLive: boolean }>({
  rows: [],
  isLive: false,
});

/** A key that is unique over all workers. */
export const keyOf = ({ id, worker }: Pick<CallRow, "id" | "worker">): string =>
  worker === undefined ? String(id) : `${worker}-${id}`;

/** Follows the calls once the gateway is known to provide them, for the life of the page. */
export function startCalls(): void {
  let isFollowing = false;
  const begin = (): void => {
    if (isFollowing || access.state.isLocked || !hasPage(gateway.state, "calls")) return;
    isFollowing = true;
    void follow()
      .catch(() => {})
      .finally(() => {
        calls.set({ isLive: false });
        setTimeout(() => {
          isFollowing = false;
          begin();
        }, RETRY_MS);
      });
  };
  gateway.watch(begin);
  begin();
}

/** @throws Error if the stream is lost */
async function follow(): Promise<void> {
  const response = hasPage(gateway.state, "calls/stream") ? await send("/api/v1/calls/stream") : undefined;
  const page = await getPage<readonly CallRow[] | { readonly calls: readonly CallRow[] }>(
    `calls?limit=${KEPT}`,
  );
  calls.set({ rows: "calls" in page ? page.calls : page });
  if (response?.body == null || !response.ok) return;
  calls.set({ isLive: true });
  let fresh: CallRow[] = [];
  let frame: ReturnType<typeof setTimeout> | undefined;
  const show = (): void => {
    frame = undefined;
    const seen = new Set(fresh.map(keyOf));
    const rows = [...fresh.reverse(), ...calls.state.rows.filter((row) => !seen.has(keyOf(row)))];
    fresh = [];
    calls.set({ rows: rows.slice(0, KEPT) });
  };
  try {
    for await (const { name, data } of readEvents(response.body)) {
      if (name !== "call") continue;
      fresh.push(JSON.parse(data) as CallRow);
      frame ??= setTimeout(show, FRAME_MS);
    }
  } finally {
    clearTimeout(frame);
    if (fresh.length > 0) show();
  }
}
