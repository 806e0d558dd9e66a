/** The parts that views are made of. */
import type { ComponentChildren } from "preact";

/** The title of a view, with a line below it. */
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

/** What stands where there is nothing yet. */
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
  /** A title that begins with `#` is over numbers. */
  readonly columns: readonly string[];
  /** `stack`: on a phone each row is a block, with its `.target` on a line of its own. */
  readonly kind?: "stack";
  readonly children: ComponentChildren;
}

/** A table that scrolls sideways in its own box. */
export function Table({ label, columns, kind, children }: TableProps) {
  return (
    // A box that scrolls must be reachable by the keyboard.
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

/** One fact of a list of facts. */
export function Fact({ label, children }: { readonly label: string; readonly children: ComponentChildren }) {
  return (
    <div class="fact">
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  );
}
