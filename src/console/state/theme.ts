/** The theme: light, dark, or that of the system. */
import { Store } from "./store.js";

/** The order in which the button switches. */
const THEMES = ["system", "light", "dark"] as const;
/** One of these. */
export type Theme = (typeof THEMES)[number];
const KEY = "cardea-theme";

const kept = localStorage.getItem(KEY);
/** The chosen theme. */
export const theme = new Store<{ readonly chosen: Theme }>({
  chosen: THEMES.find((each) => each === kept) ?? "system",
});

/** Applies the theme to the page. */
export function applyTheme(): void {
  const { chosen } = theme.state;
  if (chosen === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen;
}

/** Switches to the next theme, and stores the choice. */
export function nextTheme(): void {
  const chosen = THEMES[(THEMES.indexOf(theme.state.chosen) + 1) % THEMES.length] ?? "system";
  localStorage.setItem(KEY, chosen);
  theme.set({ chosen });
  applyTheme();
}
