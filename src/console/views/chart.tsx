/** A time series chart, drawn by uPlot on a canvas, with its latest values as text. */
import { useEffect, useRef, useState } from "preact/hooks";
import type uPlot from "uplot";
import { useStore } from "../state/store.js";
import { theme } from "../state/theme.js";
import { Empty } from "../ui/panel.js";

/** A series. `colour`: a custom property of the style sheet. */
interface Series {
  readonly label: string;
  readonly colour: string;
  readonly values: readonly (number | null)[];
}

interface ChartProps {
  readonly title: string;
  /** Milliseconds since 1970. */
  readonly at: readonly number[];
  readonly series: readonly Series[];
  /** Such as `12 ms`. */
  readonly write: (value: number) => string;
  /** Whether all values are counts. */
  readonly isWhole?: boolean | undefined;
}

const HEIGHT = 190;
/** The distances of lines of a plot of counts. */
const WHOLE_STEPS = [1, 10, 100, 1_000, 10_000].flatMap((power) => [power, 2 * power, 5 * power]);

/** A card with the plot. */
export function Chart({ title, at, series, write, isWhole }: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const { chosen } = useStore(theme);
  const [trouble, setTrouble] = useState<string>();
  // The colours are those of the theme.
  useEffect(() => {
    const element = place.current;
    if (element === null || at.length === 0) return;
    let end = (): void => {};
    let isGone = false;
    loadPlot().then(
      (Plot) => {
        if (isGone) return;
        const plot = new Plot(...plotOf(element, { at, series, write, isWhole }));
        const resized = new ResizeObserver(() =>
          plot.setSize({ width: element.clientWidth, height: HEIGHT }),
        );
        resized.observe(element);
        end = () => {
          resized.disconnect();
          plot.destroy();
        };
      },
      (error: Error) => setTrouble(error.message),
    );
    return () => {
      isGone = true;
      end();
    };
  }, [at, series, chosen]);
  return (
    <section class="card chart" aria-label={title}>
      <div class="card-head">
        <h2>{title}</h2>
        <ul class="legend">
          {series.map(({ label, colour, values }) => {
            const last = values.findLast((value) => value !== null);
            return (
              <li key={label}>
                <svg class="key" viewBox="0 0 10 10" aria-hidden="true">
                  <circle cx="5" cy="5" r="4" fill={`var(${colour})`} />
                </svg>
                {`${label}: ${last === undefined || last === null ? "–" : write(last)}`}
              </li>
            );
          })}
        </ul>
      </div>
      {trouble !== undefined && <p class="error">{trouble}</p>}
      {at.length === 0 ? (
        <Empty title="Nothing was measured yet." />
      ) : (
        <div ref={place} class="plot" aria-hidden="true" />
      )}
    </section>
  );
}

/** uPlot reads the language of the browser once, when it is loaded, and fails for a tag that is not valid. */
async function loadPlot(): Promise<typeof uPlot> {
  try {
    new Intl.NumberFormat(navigator.language);
  } catch {
    Object.defineProperty(navigator, "language", { value: "en-GB", configurable: true });
  }
  return (await import("uplot")).default;
}

/** What uPlot is made with. */
function plotOf(
  element: HTMLElement,
  { at, series, write, isWhole = false }: Omit<ChartProps, "title">,
): [uPlot.Options, uPlot.AlignedData, HTMLElement] {
  const colour = (name: string): string => getComputedStyle(element).getPropertyValue(name).trim();
  const grid = { stroke: colour("--line"), width: 1 };
  const axis = { stroke: colour("--quiet"), grid, ticks: { show: false } };
  const lines = series.map(({ label, colour: name }) => ({
    label,
    stroke: colour(name),
    width: 2,
    points: { show: true, size: 5, fill: colour(name), filter: isolated },
    spanGaps: false,
  }));
  const options: uPlot.Options = {
    width: element.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { drag: { x: false, y: false } },
    scales: { y: { range: (_, __, max) => [0, Math.max(1, max * 1.1)] } },
    axes: [
      { ...axis, size: 30, values: "{HH}:{mm}" },
      {
        ...axis,
        size: 62,
        values: (_, splits) => splits.map(write),
        ...(isWhole && { incrs: WHOLE_STEPS }),
      },
    ],
    series: [{}, ...lines],
  };
  const data = [at.map((ms) => ms / 1000), ...series.map(({ values }) => [...values])];
  return [options, data as uPlot.AlignedData, element];
}

/** The places of values without a neighbour, which no line shows. */
function isolated(plot: uPlot, series: number): number[] {
  const values = plot.data[series] ?? [];
  return [...values.keys()].filter(
    (at) => values[at] != null && values[at - 1] == null && values[at + 1] == null,
  );
}
