/** Why a link did not unlock the page. */

import { useStore } from "../state/store.js";
import { linkTrouble } from "../state/unlock.js";

/** Nothing while no link was refused. */
export function LinkTrouble() {
  const { text } = useStore(linkTrouble);
  if (text === undefined) return null;
  return (
    <p class="spent" role="alert">
      <span>{text.charAt(0).toUpperCase() + text.slice(1)}.</span>
      <button type="button" onClick={() => linkTrouble.set({ text: undefined })}>
        Close
      </button>
    </p>
  );
}
