/** Light, dark, or as the system says. */
import { Store } from "./store.js";

/** What a click on the button chooses, in turn. */
const THEMES = ["system", "light", "dark"] as const;
/** One of these. */
export type Theme = (typeof THEMES)[number];
const KEY = "cardea-theme";

const kept = localStorage.getItem(KEY);
/** The chosen theme. */
export const theme = new Store<{ readonly chosen: Theme }>({
  chosen: THEMES.find((each) => each === kept) ?? "system",
});

/** Puts the theme on the page. */
export function applyTheme(): void {
  const { chosen } = theme.state;
  if (chosen === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen;
}

/** Chooses the next theme, and keeps it for later visits. */
export function nextTheme(): void {
  const chosen = THEMES[(THEMES.indexOf(theme.state.chosen) + 1) % THEMES.length] ?? "system";
  localStorage.setItem(KEY, chosen);
  theme.set({ chosen });
  applyTheme();
}
