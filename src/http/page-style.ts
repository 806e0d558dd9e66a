/** The look that all pages of the gateway share: those without a script, and the console, into which scripts/build-console.mjs copies it. */

/** Colours, in the light and in the dark theme. */
const COLOURS: Readonly<Record<string, readonly [light: string, dark: string]>> = {
  paper: ["#f6f4ee", "#101516"],
  card: ["#ffffff", "#192021"],
  sunk: ["#f3f1ea", "#131a1b"],
  ink: ["#1b2425", "#e7ebe9"],
  quiet: ["#5b6668", "#9aa7a8"],
  line: ["#e2ddd0", "#2b3536"],
  accent: ["#1f5f63", "#7cc4c4"],
  "on-accent": ["#ffffff", "#0d2122"],
  "accent-soft": ["#e3efee", "#1c3234"],
  good: ["#1f6d40", "#79cf9b"],
  "good-soft": ["#e4f2e8", "#17301f"],
  warn: ["#855600", "#e6b863"],
  "warn-soft": ["#fbf0d9", "#362a12"],
  bad: ["#a8302f", "#f19390"],
  "bad-soft": ["#fbe7e4", "#3b1c1c"],
  info: ["#2c5a9c", "#93b8f0"],
  "info-soft": ["#e6eefa", "#1b2940"],
  shadow: ["0 1px 2px rgb(40 35 20 / 6%), 0 4px 14px rgb(40 35 20 / 4%)", "none"],
};

const light = themed("light", 0);
const dark = themed("dark", 1);

function themed(scheme: string, at: 0 | 1): string {
  const values = Object.entries(COLOURS).map(([name, colours]) => `--${name}: ${colours[at]}`);
  return [`color-scheme: ${scheme}`, ...values].join("; ");
}

/** The system chooses the theme, unless `data-theme` of the page does. */
export const SHARED_STYLE = `
:root { ${light};
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
  --mono: ui-monospace, "SF Mono", Menlo, Consolas, monospace; --radius: 12px }
:root[data-theme="dark"] { ${dark} }
@media (prefers-color-scheme: dark) { :root:not([data-theme="light"]) { ${dark} } }
* { box-sizing: border-box }
body { margin: 0; background: var(--paper); color: var(--ink); font: 15px / 1.5 var(--sans);
  font-variant-numeric: tabular-nums }
h1, h2, h3, p, ul, ol, dl, dd, pre { margin: 0; padding: 0 }
ul, ol { list-style: none }
h1 { font-size: 1.45rem; letter-spacing: -0.015em; line-height: 1.25 }
h2 { font-size: 1.02rem; overflow-wrap: anywhere }
a { color: var(--accent); text-underline-offset: 0.2em }
code, pre, .mono { font-family: var(--mono); font-size: 0.9em }
summary { cursor: pointer }
.quiet { color: var(--quiet) }
p.quiet { font-size: 0.88rem }
.good { color: var(--good) }
.warn { color: var(--warn) }
.bad { color: var(--bad) }
.info { color: var(--info) }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px }
header { display: flex; align-items: center; gap: 0.9rem; height: 3.6rem; padding: 0 1.25rem;
  border-bottom: 1px solid var(--line); background: var(--card) }
.brand { display: flex; align-items: center; gap: 0.6rem; color: var(--ink); font-size: 1.1rem; font-weight: 650;
  text-decoration: none }
.logo { flex: none; width: 2rem; height: 2rem }
main { display: grid; gap: 1.1rem; min-width: 0; padding: 1.5rem 1.25rem 4rem }
.card { min-width: 0; padding: 1.1rem 1.2rem; border: 1px solid var(--line); border-radius: var(--radius);
  background: var(--card); box-shadow: var(--shadow) }
button, .button { display: inline-flex; align-items: center; gap: 0.4rem; min-height: 2.1rem; padding: 0.3rem 0.85rem;
  border: 1px solid var(--line); border-radius: 8px; background: var(--card); color: var(--ink); font: inherit;
  font-size: 0.9rem; text-decoration: none; cursor: pointer }
button:hover:not(:disabled), .button:hover { border-color: var(--quiet) }
.main:is(button, .button), form.main > button { border-color: var(--accent); background: var(--accent); color: var(--on-accent); font-weight: 600 }
input, select, textarea { width: 100%; min-height: 2.2rem; padding: 0.35rem 0.65rem;
  border: 1px solid color-mix(in srgb, var(--quiet) 55%, var(--line)); border-radius: 8px; background: var(--card);
  color: var(--ink); font: inherit; font-size: 0.92rem }
.badge { display: inline-flex; align-items: center; gap: 0.4rem; padding: 0.08rem 0.6rem; border-radius: 99px;
  background: var(--sunk); font-size: 0.82rem; font-weight: 550; white-space: nowrap }
.badge::before { content: ""; width: 0.45rem; height: 0.45rem; border-radius: 50%; background: currentcolor }
.badge.good { background: var(--good-soft) }
.badge.warn { background: var(--warn-soft) }
.badge.bad { background: var(--bad-soft) }
.badge.info { background: var(--info-soft) }
.error { padding: 0.5rem 0.8rem; border-left: 3px solid var(--bad); border-radius: 0 8px 8px 0; background: var(--bad-soft);
  color: var(--bad); font-size: 0.9rem; overflow-wrap: anywhere; white-space: pre-wrap }
.error.warn { border-left-color: var(--warn); background: var(--warn-soft); color: var(--warn) }
@media (max-width: 52rem) { header { padding: 0 0.9rem } main { padding: 1.1rem 0.9rem 3rem } }
`;

/** The logo, a door with a hinge: an SVG with these attributes, as a text of XML. */
export const logo = (attributes: string): string =>
  `<svg ${attributes} viewBox="0 0 34 34"><rect width="34" height="34" rx="8" fill="#24595c"/><path d="M12 7v20M12 11h11v4H12M12 19h8v4h-8" fill="none" stroke="#f4efe4" stroke-width="2.4" stroke-linejoin="round" stroke-linecap="round"/><circle cx="12" cy="17" r="2.2" fill="#e3b25c"/></svg>`;
