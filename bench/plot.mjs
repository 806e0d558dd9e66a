/** Draws a curve as SVG: one or more series over a logarithmic axis. No dependency, so that the plots stay in the repository. */

const WIDTH = 640;
const HEIGHT = 300;
const PLOT = { left: 70, right: WIDTH - 20, top: 46, bottom: HEIGHT - 44 };
const COLOURS = ["#1f6feb", "#d1570a", "#1a7f37"];

/**
 * @param {{ title: string, x: string, y: string, series: { name: string, points: [number, number][] }[] }} curve
 * points with x = 0 are drawn at the left edge
 */
export function plot({ title, x, y, series }) {
  const xs = [...new Set(series.flatMap(({ points }) => points.map(([at]) => at)))].toSorted((a, b) => a - b);
  const ys = series.flatMap(({ points }) => points.map(([, value]) => value));
  const across = logarithmic(xs, PLOT.left, PLOT.right);
  const up = logarithmic(ys, PLOT.bottom, PLOT.top);
  const lines = series.map(({ name, points }, i) => {
    const colour = COLOURS[i % COLOURS.length];
    const path = points.map(([a, b]) => `${across(a)},${up(b)}`).join(" ");
    const dots = points.map(
      ([a, b]) => `<circle cx="${across(a)}" cy="${up(b)}" r="3"><title>${a}: ${short(b)}</title></circle>`,
    );
    return `<g fill="${colour}"><polyline points="${path}" fill="none" stroke="${colour}" stroke-width="2"/>${dots.join("")}<text x="${PLOT.left + 20 + i * 200}" y="36">${name}</text></g>`;
  });
  const columns = xs.map(
    (at) => `<text x="${across(at)}" y="${PLOT.bottom + 16}" text-anchor="middle">${short(at)}</text>`,
  );
  const rows = decades(ys).map(
    (at) =>
      `<line x1="${PLOT.left}" x2="${PLOT.right}" y1="${up(at)}" y2="${up(at)}" stroke="#8884"/><text x="${PLOT.left - 6}" y="${up(at) + 4}" text-anchor="end">${short(at)}</text>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="11" fill="#777">
<title>${title}</title>
<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>
<text x="${PLOT.left}" y="18" font-size="14" fill="#222">${title}</text>
${rows.join("")}
${columns.join("")}
<text x="${PLOT.right}" y="${HEIGHT - 8}" text-anchor="end">${x}</text><text x="6" y="${PLOT.top - 10}">${y}</text>
${lines.join("\n")}
</svg>
`;
}

/** Maps values to pixels; at least one whole decade, so that noise does not look like a slope. */
function logarithmic(values, from, to) {
  const [low, high] = range(values);
  const place = (value) =>
    (Math.log10(Math.max(value, low)) - Math.log10(low)) / (Math.log10(high) - Math.log10(low));
  return (value) => Math.round(from + place(value) * (to - from));
}

function range(values) {
  const positive = values.filter((value) => value > 0);
  const low = Math.min(...positive);
  const high = Math.max(...positive);
  // Zero stands a little to the left of the first value that a logarithm has.
  const first = values.includes(0) ? low / 4 : low;
  return high / first >= 10
    ? [first, high]
    : [10 ** Math.floor(Math.log10(first)), 10 ** Math.ceil(Math.log10(high) + 1e-9)];
}

function decades(values) {
  const [low, high] = range(values);
  const first = Math.ceil(Math.log10(low) - 1e-9);
  const count = Math.floor(Math.log10(high) + 1e-9) - first + 1;
  const whole = Array.from({ length: count }, (_, i) => 10 ** (first + i));
  return whole.flatMap((at) => (count > 3 ? [at] : [at, 2 * at, 5 * at].filter((mark) => mark <= high)));
}

function short(value) {
  const [unit, size] = [
    ["M", 1e6],
    ["k", 1e3],
    ["", 1],
  ].find(([, least]) => value >= least) ?? ["", 1];
  return `${Number((value / size).toPrecision(3))}${unit}`;
}
