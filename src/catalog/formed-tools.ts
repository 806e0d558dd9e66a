/** The tools of a URL in the form that a feature gives them there. */
import type { ExposedItem } from "../core/list-transform.js";
import type { EndpointForm } from "../core/tool-forms.js";
import { type Steps, Work } from "../runtime/cooperative-yield.js";
import { Snapshot } from "./view.js";

/** The same list where nothing changes. */
export function formedTools(list: Snapshot, form: EndpointForm): Snapshot {
  const entries = list.entries.map((entry): ExposedItem => {
    const item = form.show(entry.item);
    return item === entry.item ? entry : { ...entry, item };
  });
  return entries.some((entry, at) => entry !== list.entries[at]) ? new Snapshot(list.kind, entries) : list;
}

/** Does the work of `formedTools` in steps, which is cheap afterwards. */
export function* formedInSteps(list: Snapshot, form: EndpointForm): Steps<void> {
  const work = new Work();
  for (const { item } of list.entries) {
    const spent = form.prepare(item);
    if (spent > 0) yield* work.spend(spent);
  }
}
