/** Preformatted text in a box of limited height. */
import type { ComponentChildren } from "preact";

/** `label` names the box for screen readers. */
export function TextBox({
  label,
  children,
}: {
  readonly label: string;
  readonly children: ComponentChildren;
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by the keyboard
    <section class="box" tabIndex={0} aria-label={label}>
      <pre>{children}</pre>
    </section>
  );
}
