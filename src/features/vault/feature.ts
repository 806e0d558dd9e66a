/** The vault: files of the state folder, or of a cluster's store, that only this user can read (`cardea vault`, docs/sign-in.md). */
import type { Feature } from "../../cli/feature.js";
import { COMMANDS } from "./cli/commands.js";

/** Nothing of it runs by itself: features that keep secrets open it. */
export const vault: Feature = {
  name: "vault",
  loadSections: async () => [(await import("./section.js")).section],
  commands: COMMANDS,
  open: async () => undefined,
};
