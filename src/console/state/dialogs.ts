/** The stack of open dialogs. */
import type { ComponentChild } from "preact";
import { Store } from "./store.js";

/** One dialog; `close` ends it with a result. */
export interface OpenDialog {
  readonly key: number;
  readonly draw: () => ComponentChild;
  /** Called when the dialog is closed with Escape. */
  readonly dismiss: () => void;
}

/** All of them. */
export const dialogs = new Store<{ readonly open: readonly OpenDialog[]; readonly next: number }>({
  open: [],
  next: 1,
});

/**
 * Opens a dialog.
 *
 * @param draw its content, which closes it with a result
 * @param signal closes it without one
 * @returns the result; undefined if it was dismissed
 */
export function openDialog<Result>(
  draw: (close: (result?: Result) => void) => ComponentChild,
  signal?: AbortSignal,
): Promise<Result | undefined> {
  return new Promise((resolve) => {
    const { next: key, open } = dialogs.state;
    const close = (result?: Result): void => {
      dialogs.set({ open: dialogs.state.open.filter((dialog) => dialog.key !== key) });
      resolve(result);
    };
    signal?.addEventListener("abort", () => close(), { once: true });
    dialogs.set({ open: [...open, { key, draw: () => draw(close), dismiss: () => close() }], next: key + 1 });
  });
}
