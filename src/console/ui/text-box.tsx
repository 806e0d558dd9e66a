/** Preformatted text in a box of limited height. */
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

interface TextBoxProps {
  /** Names the box for screen readers. */
  readonly label: string;
  /** Whether the end of the text is shown first. */
  readonly isTail?: boolean;
  readonly children: ComponentChildren;
}

/** A box that scrolls. */
export function TextBox({ label, isTail = false, children }: TextBoxProps) {
  const box = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    if (isTail && box.current !== null) box.current.scrollTop = box.current.scrollHeight;
  }, [isTail, children]);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by the keyboard
    <section class={`box ${isTail ? "tail" : ""}`} tabIndex={0} ref={box} aria-label={label}>
      <pre>{children}</pre>
    </section>
  );
}
