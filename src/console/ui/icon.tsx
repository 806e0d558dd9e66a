/** Icons of the navigation and of buttons, drawn as strokes on 24 × 24. */

const PATHS = {
  overview: "M4 5h6v6H4zM14 5h6v6h-6zM4 15h6v4H4zM14 15h6v4h-6z",
  inbox: "M4 13l3-8h10l3 8v6H4zM4 13h5l1 2h4l1-2h5",
  close: "M6 6l12 12M18 6L6 18",
  servers: "M4 5h16v6H4zM4 13h16v6H4zM8 8h.01M8 16h.01",
  tools: "M14.5 6a4 4 0 0 1 5 5l-9.5 9-5-5zM14.5 6l5 5",
  calls: "M4 7h10M4 12h16M4 17h7M17 17h3",
  plots: "M4 4v16h16M7 15l4-5 3 3 5-7",
  policy: "M12 3l7 3v5c0 5-3 8-7 10-4-2-7-5-7-10V6zM9 12l2 2 4-4",
  sessions:
    "M9 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM3 19c0-3 3-5 6-5s6 2 6 5M16 5a3 3 0 0 1 0 6M18 14c2 1 3 3 3 5",
  config: "M4 7h9M17 7h3M4 17h3M11 17h9M15 5v4M9 15v4",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1 1M18 18l1 1M5 19l1-1M18 6l1-1",
  moon: "M20 14A8 8 0 0 1 10 4a8 8 0 1 0 10 10z",
  system: "M4 5h16v11H4zM9 20h6M12 16v4",
  key: "M8 11a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM11 12l8-8M16 7l3 3",
  ok: "M5 13l4 4L19 7",
  alert: "M12 4l9 16H3zM12 10v4M12 17h.01",
  play: "M8 5l11 7-11 7z",
  host: "M4 5h16v11H4zM2 20h20",
} as const;

/** The name of an icon. */
export type IconName = keyof typeof PATHS;

/** An icon beside a text of the same meaning. */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
