/** The logo: a door with a hinge. */

/** Drawn in the colours of the theme. */
export function Logo() {
  return (
    <svg class="logo" viewBox="0 0 34 34" aria-hidden="true">
      <rect width="34" height="34" rx="8" />
      <path d="M12 7v20M12 11h11v4H12M12 19h8v4h-8" />
      <circle cx="12" cy="17" r="2.2" />
    </svg>
  );
}
