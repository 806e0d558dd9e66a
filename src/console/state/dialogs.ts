/** The stack of open dialogs. */
import type { ComponentChild } from "preact";
import { Store } from "./store.js";

/** One dialog; `close` ends it with a result. */
export interface OpenDialog {
  readonly key: number;
  readonly draw: () => ComponentChild;
  /** Whether the views stay in use beside it. */
  readonly isDocked: boolean;
  /** Called when the dialog is closed with Escape. */
  readonly dismiss: () => void;
}

/** All of them. */
export const dialogs = new Store<{ readonly open: readonly OpenDialog[]; readonly next: number }>({
  open: [],
  next: 1,
});

/** How a dialog is opened. */
export interface DialogOptions {
  readonly signal?: AbortSignal;
  readonly isDocked?: boolean;
}

/**
 * Opens a dialog.
 *
 * @param draw its content, which closes it with a result
 * @param options `signal` closes it without a result; a docked one stands in a corner, and the views stay in use
 * @returns the result; undefined if it was dismissed
 */
export function openDialog<Result>(
  draw: (close: (result?: Result) => void) => ComponentChild,
  { signal, isDocked = false }: DialogOptions = {},
): Promise<Result | undefined> {
  return new Promise((resolve) => {
    const { next: key, open } = dialogs.state;
    const close = (result?: Result): void => {
      dialogs.set({ open: dialogs.state.open.filter((dialog) => dialog.key !== key) });
      resolve(result);
    };
    signal?.addEventListener("abort", () => close(), { once: true });
    const dialog = { key, isDocked, draw: () => draw(close), dismiss: () => close() };
    dialogs.set({ open: [...open, dialog], next: key + 1 });
  });
}
