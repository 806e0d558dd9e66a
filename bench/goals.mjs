/** A row of the table: what was worked at, the figures, and whether they meet their goals and floors. */

/**
 * @param {string} id the goal's, P1 … P12
 * @param {{ value: number, goal: number, floor?: number, atLeast?: boolean, unit?: string, digits?: number }[]} figures
 * each is better the smaller it is, unless it is to be `atLeast` its goal; without a floor only the goal is said
 * @param options `evaluated`: whether a figure below its floor says anything
 */
export function within(id, work, figures, detail = "", { evaluated = true } = {}) {
  const text = ({ unit = "", digits = 2 }, number) => `${number.toFixed(digits)}${unit}`;
  const holds = ({ value, atLeast = false }, bound) => (atLeast ? value >= bound : value <= bound);
  return {
    id,
    work,
    figure: figures.map((figure) => text(figure, figure.value)).join(", "),
    goal: figures.map((figure) => `${figure.atLeast ? "≥" : "≤"} ${text(figure, figure.goal)}`).join(", "),
    met: figures.every((figure) => holds(figure, figure.goal)),
    aboveFloor:
      !evaluated || figures.every((figure) => figure.floor === undefined || holds(figure, figure.floor)),
    detail,
  };
}

/** A goal as a multiple of the pass-through's time. */
export const times = (id, work, value, goal, floor, detail, options) =>
  within(id, work, [{ value, goal, floor, unit: " ×" }], detail, options);

export const inOneLine = ({ id, work, figure, goal, met, aboveFloor }) =>
  `${id.padEnd(4)} ${work.padEnd(62)} ${figure.padStart(18)}  goal ${goal.padEnd(18)} ${met ? "met" : "NOT MET"}${aboveFloor ? "" : ", BELOW THE FLOOR"}`;

export const asTable = (rows) =>
  [
    "| | work | figure | goal | met | detail |",
    "|---|---|---|---|---|---|",
    ...rows.map(
      ({ id, work, figure, goal, met, detail }) =>
        `| ${id} | ${work} | ${figure} | ${goal} | ${met ? "yes" : "**no**"} | ${detail} |`,
    ),
  ].join("\n");
