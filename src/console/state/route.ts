/** The current view: the fragment of the URL. */
import { Store } from "./store.js";

/** `#/VIEW/ITEM` */
export interface Route {
  readonly view: string;
  readonly item: string | undefined;
}

const read = (): Route => {
  const [view = "", item] = location.hash.replace(/^#\/?/, "").split("/");
  let name: string | undefined;
  try {
    name = item === undefined || item === "" ? undefined : decodeURIComponent(item);
  } catch {
    // An address typed by hand; the view is shown without an item.
  }
  return { view: view === "" ? "overview" : view, item: name };
};

/** The current view. */
export const route = new Store<Route>(read());
/** Shows the view of the address bar. */
export const showRoute = (): void => route.set(read());
addEventListener("hashchange", showRoute);

/** The address of a view, or of one item in it. */
export const hrefOf = (view: string, item?: string): string =>
  item === undefined ? `#/${view}` : `#/${view}/${encodeURIComponent(item)}`;
