/** Building blocks of views. */
import type { ComponentChildren } from "preact";
import { Icon } from "./icon.js";

/** The title of a view, with a subtitle. */
export function ViewTitle({
  title,
  children,
}: {
  readonly title: string;
  readonly children?: ComponentChildren;
}) {
  return (
    <div class="view-title">
      <h1>{title}</h1>
      {children !== undefined && <p class="quiet">{children}</p>}
    </div>
  );
}

interface PanelProps {
  readonly title: string;
  readonly aside?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** A titled card. */
export function Panel({ title, aside, children }: PanelProps) {
  return (
    <section class="card" aria-label={title}>
      <div class="card-head">
        <h2>{title}</h2>
        {aside}
      </div>
      {children}
    </section>
  );
}

/** The placeholder of an empty view. */
export function Empty({
  title,
  children,
}: {
  readonly title: string;
  readonly children?: ComponentChildren;
}) {
  return (
    <div class="empty">
      <p>{title}</p>
      {children !== undefined && <p class="quiet">{children}</p>}
    </div>
  );
}

interface TableProps {
  readonly label: string;
  /** A title that begins with `#` heads a numeric column. */
  readonly columns: readonly string[];
  /** `stack`: on a phone each row is a block, with its `.target` on a line of its own. */
  readonly kind?: "stack";
  readonly children: ComponentChildren;
}

/** A table that scrolls horizontally in its own box. */
export function Table({ label, columns, kind, children }: TableProps) {
  return (
    // A scrollable box must be reachable by keyboard.
    // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
    <section class="scroll" tabIndex={0} aria-label={label}>
      <table class={kind}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column} scope="col" class={column.startsWith("#") ? "number" : ""}>
                {column.replace("#", "")}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </section>
  );
}

interface RowProps {
  readonly href: string;
  readonly isChosen: boolean;
  readonly children: ComponentChildren;
}

/** A row that is clickable as a whole; a link in it leads to the same address, for the keyboard. */
export function Row({ href, isChosen, children }: RowProps) {
  const open = (event: Event): void => {
    const { target } = event;
    const isControl = target instanceof Element && target.closest("a, button, input, summary") !== null;
    // A click that ends the selection of text opens nothing.
    if (!isControl && getSelection()?.isCollapsed !== false) location.hash = href;
  };
  return (
    <tr class={`leads ${isChosen ? "chosen" : ""}`} onClick={open}>
      {children}
    </tr>
  );
}

interface DrawerProps {
  readonly title: ComponentChildren;
  /** Names the drawer for screen readers. */
  readonly label: string;
  readonly about: string;
  readonly badges: ComponentChildren;
  /** The address of the view without the drawer. */
  readonly back: string;
  readonly children: ComponentChildren;
}

/** The detail beside a list. It stays in sight while the list scrolls; on a phone it takes the place of the list. */
export function Drawer({ title, label, about, badges, back, children }: DrawerProps) {
  return (
    <section class="card detail drawer" aria-label={label}>
      <div class="card-head">
        <div>
          <h2>{title}</h2>
          <p class="quiet">{about}</p>
        </div>
        <div class="badges">
          {badges}
          <a class="close" href={back} title="Close (Escape)">
            <Icon name="close" />
            <span class="hidden">Close</span>
          </a>
        </div>
      </div>
      {children}
    </section>
  );
}

/** A term of a description list. */
export function Fact({ label, children }: { readonly label: string; readonly children: ComponentChildren }) {
  return (
    <div class="fact">
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  );
}
