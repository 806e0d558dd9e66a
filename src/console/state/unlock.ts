/** A link that unlocks the page: `#unlock=CODE`, from `cardea console`. */
import { enterToken, postAction, Refused } from "./api.js";
import { showRoute } from "./route.js";
import { Store } from "./store.js";

/** Why the last link did not unlock the page; undefined if it did, or there was none. */
export const linkTrouble = new Store<{ readonly text: string | undefined }>({ text: undefined });

/** Uses the link of the address bar, and each that is opened in this tab later. Resolves when the first one is used. */
export async function useLinks(): Promise<void> {
  addEventListener("hashchange", () => void useLink());
  await useLink();
}

async function useLink(): Promise<void> {
  const [, code] = /^#unlock=(.*)$/.exec(location.hash) ?? [];
  if (code === undefined) return;
  // Neither the address bar nor the history keeps the code.
  history.replaceState(null, "", location.pathname);
  showRoute();
  try {
    enterToken((await postAction<{ readonly token: string }>("console/unlock", { code })).token);
    linkTrouble.set({ text: undefined });
  } catch (error) {
    linkTrouble.set({
      text: error instanceof Refused ? error.message : "the gateway cannot be reached: the link was not used",
    });
  }
}
