/** Draws the open dialogs; the browser keeps the focus in the topmost one that is not docked. */
import { useEffect, useRef } from "preact/hooks";
import { dialogs, type OpenDialog } from "../state/dialogs.js";
import { useStore } from "../state/store.js";

/** The last element of the page. */
export function DialogHost() {
  const { open } = useStore(dialogs);
  return (
    <>
      {open.map((dialog) => (
        <Modal key={dialog.key} dialog={dialog} />
      ))}
    </>
  );
}

function Modal({ dialog }: { readonly dialog: OpenDialog }) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (dialog.isDocked) element.current?.show();
    else element.current?.showModal();
  }, []);
  return (
    <dialog
      ref={element}
      class={dialog.isDocked ? "docked" : ""}
      aria-labelledby={`dialog-${dialog.key}`}
      onCancel={(event) => {
        event.preventDefault();
        dialog.dismiss();
      }}
    >
      <div id={`dialog-${dialog.key}`} class="dialog">
        {dialog.draw()}
      </div>
    </dialog>
  );
}
