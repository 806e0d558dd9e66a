/**
 * Dashboards of Grafana, written from short descriptions: panels from left to right, a row of 24 columns at a time. In expressions
 * `AT` stands for the matchers of job and instance, and `[R]` for the range of a rate.
 */
const SOURCE = { type: "prometheus", uid: "${datasource}" };
const AT = 'job=~"$job",instance=~"$instance"';
const COLUMNS = 24;
const HEIGHT = { row: 1, stat: 5, timeseries: 8 };

export const row = (title) => ({ type: "row", title });

/**
 * One number.
 * @param {object} options `unit`; `steps`: `[color, from]`, the first without `from`; `texts`: what to show in place of a number
 */
export const stat = (title, options, expression) => ({
  ...{ type: "stat", title, width: 4, queries: [[expression, ""]] },
  ...options,
});

/** Lines over time. @param {object} options `unit`, `width` in columns, `stacked`, `max`, `description` */
export const chart = (title, options, ...queries) => ({ type: "timeseries", title, queries, ...options });

const written = (expression) => expression.replaceAll("AT", AT).replaceAll("[R]", "[$__rate_interval]");

const target = ([expression, legendFormat], at) => ({
  refId: "ABCDEF"[at],
  datasource: SOURCE,
  expr: written(expression),
  legendFormat,
  editorMode: "code",
  range: true,
});

const looks = {
  stat: ({ steps, texts, decimals }) => ({
    defaults: {
      thresholds: { mode: "absolute", steps: steps.map(([color, value = null]) => ({ color, value })) },
      mappings: texts === undefined ? [] : [{ type: "value", options: mapped(texts) }],
      ...(decimals !== undefined && { decimals }),
    },
    options: {
      reduceOptions: { calcs: ["lastNotNull"], fields: "", values: false },
      colorMode: "value",
      graphMode: "area",
      textMode: "value",
    },
  }),
  timeseries: ({ stacked = false, max }) => ({
    defaults: {
      min: 0,
      ...(max !== undefined && { max }),
      custom: {
        drawStyle: "line",
        lineWidth: 1,
        fillOpacity: stacked ? 20 : 5,
        showPoints: "never",
        stacking: { mode: stacked ? "normal" : "none", group: "A" },
      },
    },
    options: {
      legend: { displayMode: "list", placement: "bottom" },
      tooltip: { mode: "multi", sort: "desc" },
    },
  }),
};

const mapped = (texts) => Object.fromEntries(Object.entries(texts).map(([value, text]) => [value, { text }]));

function panel(described, id, gridPos) {
  const { type, title, description = "", unit, queries } = described;
  if (type === "row") return { id, type, title, collapsed: false, panels: [], gridPos };
  const { defaults, options } = looks[type](described);
  return {
    ...{ id, type, title, description, datasource: SOURCE, targets: queries.map(target) },
    ...{ fieldConfig: { defaults: { unit, ...defaults }, overrides: [] }, options, gridPos },
  };
}

function placed(panels) {
  let [x, y, below] = [0, 0, 0];
  return panels.map((described, at) => {
    const { type, width: w = COLUMNS } = described;
    const h = HEIGHT[type];
    if (x + w > COLUMNS || type === "row") [x, y] = [0, below];
    const built = panel(described, at + 1, { h, w, x, y });
    [x, below] = [x + w, Math.max(below, y + h)];
    return built;
  });
}

/** The metric and the labels by which each variable is chosen. */
const VARIABLES = {
  job: "label_values(cardea_build_info, job)",
  instance: 'label_values(cardea_build_info{job=~"$job"}, instance)',
  server: "label_values(cardea_requests_total{AT}, server)",
  tool: 'label_values(cardea_request_duration_seconds_count{AT,server=~"$server",tool!=""}, tool)',
};

const everything = {
  includeAll: true,
  multi: true,
  allValue: ".*",
  current: { selected: true, text: ["All"], value: ["$__all"] },
};
const one = { includeAll: false, multi: false, current: {} };

function variable(name, isOne) {
  const definition = written(VARIABLES[name]);
  return {
    ...{ name, label: name[0].toUpperCase() + name.slice(1), type: "query", datasource: SOURCE },
    ...{ query: { query: definition, refId: name }, definition, refresh: 2, sort: 1 },
    ...(isOne ? one : everything),
  };
}

const DATA_SOURCE = {
  ...{ name: "datasource", label: "Data source", type: "datasource", query: "prometheus" },
  ...{ current: {}, refresh: 1, hide: 0, includeAll: false, multi: false },
};

/** The form that a provisioned Grafana reads. `variables`, `one`: those with a single value. */
export function provisioned({ uid, title, variables = [], one: single = [], panels }) {
  const names = ["job", "instance", ...variables];
  return {
    ...{ uid, id: null, title, tags: ["cardea", "mcp"], schemaVersion: 41, version: 1, editable: true },
    ...{ graphTooltip: 1, refresh: "30s", time: { from: "now-1h", to: "now" }, timezone: "browser" },
    annotations: { list: [] },
    links: [
      {
        type: "dashboards",
        title: "Cardea",
        tags: ["cardea"],
        asDropdown: true,
        keepTime: true,
        includeVars: true,
      },
    ],
    templating: { list: [DATA_SOURCE, ...names.map((name) => variable(name, single.includes(name)))] },
    panels: placed(panels),
  };
}

/** The form that Grafana imports: it asks for the data source. */
export function importable(described) {
  const text = JSON.stringify(provisioned(described)).replaceAll("${datasource}", "${DS_PROMETHEUS}");
  const { templating, ...rest } = JSON.parse(text);
  const input = { name: "DS_PROMETHEUS", label: "Prometheus", description: "", type: "datasource" };
  const requires = [
    ["grafana", "grafana", "Grafana", "11.0.0"],
    ["datasource", "prometheus", "Prometheus", "1.0.0"],
    ["panel", "stat", "Stat", ""],
    ["panel", "timeseries", "Time series", ""],
  ];
  return {
    __inputs: [{ ...input, pluginId: "prometheus", pluginName: "Prometheus" }],
    __requires: requires.map(([type, id, name, version]) => ({ type, id, name, version })),
    ...rest,
    templating: { list: templating.list.slice(1) },
  };
}
