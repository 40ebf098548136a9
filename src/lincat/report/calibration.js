// How the figures did against fresh returns.

const COVERAGE = /^coverage_?(\d+(?:\.\d+)?)$/;
const coverageKeys = (row) => Object.keys(row).filter((key) => COVERAGE.test(key) && typeof row[key] === "number");
const nominal = (key) => Number(key.match(COVERAGE)[1]) / 100;

// The histogram of where returns fell in their predicted distributions, with uniform = 1.
function drawPit(host, heights, count) {
  const mean = heights.reduce((sum, height) => sum + height, 0) / heights.length || 1;
  const bars = heights.map((height) => height / mean), n = bars.length;
  // What independent returns would scatter by: 95 % of the bars lie within.
  const scatter = count ? 1.96 * Math.sqrt((n - 1) / count) : 0;
  const high = Math.max(1.5, ...bars.map((bar) => bar * 1.08), 1 + scatter);
  const plot = frame(host, {
    height: 230, left: 38, x: {low: 0, high: 1, title: "Place of the return in its predicted distribution", format: (p) => showShare(p, 0)},
    y: {low: 0, high, count: 3}, label: "Histogram of the places of returns in their predicted distributions; flat is right",
  });
  if (scatter) plot.root.append(svg("rect", {class: "noise", x: plot.left, width: plot.right - plot.left, y: plot.y(Math.min(1 + scatter, high)), height: plot.y(Math.max(1 - scatter, 0)) - plot.y(Math.min(1 + scatter, high))}));
  bars.forEach((bar, k) => plot.root.append(svg("rect", {
    class: "bar", x: plot.x(k / n) + 1, width: Math.max(plot.x(1 / n) - plot.x(0) - 2, 1), y: plot.y(bar), height: Math.max(plot.bottom - plot.y(bar), 0)})));
  plot.root.append(svg("line", {class: "ideal", x1: plot.left, x2: plot.right, y1: plot.y(1), y2: plot.y(1)}));
  crosshair(host, plot, bars.map((_, k) => (k + 0.5) / n), (k) => ({
    head: `${showShare(k / n, 0)} to ${showShare((k + 1) / n, 0)}`,
    rows: [{name: "share of returns", value: showShare(bars[k] / n)}, {name: "if calibrated", value: showShare(1 / n)}],
  }));
}

// One line per nominal level: a tick where it should be, dots where it is.
// entries: [{i, name, row}]; `current` is the one to bring out.
function drawCoverage(host, entries, current) {
  const keys = [...new Set(entries.flatMap(({row}) => coverageKeys(row)))].sort((a, b) => nominal(a) - nominal(b));
  const row = Math.max(52, 20 + 9 * entries.length), height = 12 + row * keys.length + 42;
  const plot = frame(host, {
    height, left: 52, right: 18, top: 6, x: {low: 0, high: 1, title: "Share of returns inside the interval", format: (p) => showShare(p, 0), values: [0, 0.25, 0.5, 0.75, 1]},
    y: {low: 0, high: 1, hidden: true}, label: "Nominal against actual coverage of intervals",
  });
  keys.forEach((key, line) => {
    const level = nominal(key), middle = plot.top + row * (line + 0.5);
    plot.root.append(
      svg("line", {class: "grid", x1: plot.left, x2: plot.right, y1: middle, y2: middle}),
      svg("text", {class: "ridge-name", x: plot.left - 10, y: middle + 4, "text-anchor": "end"}, showLevel(level)),
      svg("line", {class: "nominal", x1: plot.x(level), x2: plot.x(level), y1: middle - row * 0.36, y2: middle + row * 0.36}));
    const ordered = entries.filter(({row: scores}) => typeof scores[key] === "number");
    ordered.forEach(({i, name, row: scores}, place) => {
      const bright = name === current || current === null;
      const y = middle + (ordered.length > 1 ? (place / (ordered.length - 1) - 0.5) * Math.min(row * 0.62, 9 * ordered.length) : 0);
      const dot = svg("circle", {class: `dot ${bright ? marks(i) : "quiet"}`, cx: plot.x(scores[key]), cy: y, r: bright ? 5 : 3.5});
      plot.root.append(dot);
      if (name === current) plot.root.append(svg("text", {class: "value", x: plot.x(scores[key]) - 10, y: y + 4, "text-anchor": "end"}, showShare(scores[key], 0)));
    });
  });
  if (!keys.length) return;
  const lines = keys.map((_, line) => plot.top + row * (line + 0.5));
  const read = (event) => {
    const box = plot.root.getBoundingClientRect(), y = (event.clientY - box.top) * (plot.width / box.width);
    const line = lines.reduce((best, middle, i) => Math.abs(middle - y) < Math.abs(lines[best] - y) ? i : best, 0);
    showReadout(`${showLevel(nominal(keys[line]))} intervals held`, limited(entries.map(({i, name, row: scores}) => ({
      series: current === null || name === current ? i : undefined, name, value: showShare(scores[keys[line]])}))), event.clientX, event.clientY);
  };
  host.onpointermove = host.onpointerdown = read;
  host.onpointerleave = hideReadout;
}

// Predicted and observed CDF of one group, with the band that the observed one is sure to.
function drawCompared(host, {atoms, predicted, empirical, low, high}, exact, range) {
  const ends = [Math.max(range[0], atoms[0]), Math.min(range[1], atoms[atoms.length - 1])];
  const full = (values) => values.length < atoms.length ? [...values, 1] : values;
  const plot = frame(host, {
    height: 300, left: 50, x: {low: ends[0], high: ends[1], title: "Return"},
    y: {low: 0, high: 1, format: (p) => showShare(p, 0), count: 5}, label: "Predicted and observed chance of a return at most x",
  });
  const line = (values) => {
    const points = clipPoints(steps(atoms, full(values), plot), plot);
    return path([[plot.left, points[0][1]], ...points, [plot.right, points[points.length - 1][1]]]);
  };
  if (low && high) {
    const upper = clipPoints(steps(atoms, full(high), plot), plot), lower = clipPoints(steps(atoms, full(low), plot), plot);
    plot.root.append(svg("path", {class: "band observed", d: path([...upper, ...lower.reverse()]) + "Z"}));
  }
  plot.root.append(svg("path", {class: "line observed", d: line(empirical)}), svg("path", {class: `line ${marks(0)}`, d: line(predicted)}));
  const shown = atoms.map((_, k) => k).filter((k) => atoms[k] >= ends[0] && atoms[k] <= ends[1]);
  crosshair(host, plot, shown.map((k) => atoms[k]), (at) => {
    const k = shown[at], band = low && high ? ` (${showShare(full(low)[k])} – ${showShare(full(high)[k])})` : "";
    return {
      head: `Return at most ${showNumber(atoms[k], range)}`,
      rows: [{series: 0, name: "predicted", value: showShare(full(predicted)[k])}, {name: exact ? "exact" : "observed", value: showShare(full(empirical)[k]) + band}],
    };
  });
}

// Headings of scores, in the order of the table; others follow under their own names.
const SCORES = {
  run: "Run", group: "Group", states: "States", n_states: "States", returns: "Returns", n_returns: "Returns",
  mean_error: "Error of the mean", w1: "W1 distance", w1_states: "W1 per state", cramer: "Cramér distance",
  crps: "CRPS", skill: "Skill",
};
const LATER = {cvar_predicted: "Mean of the worst, predicted", cvar_realised: "Mean of the worst, realised"};

// "± 0.01" below a score, or what chance alone would make of it.
function aside(row, key) {
  if (typeof row[`${key}_se`] === "number") return `± ${isShare(key) ? showShare(row[`${key}_se`]) : showPlain(row[`${key}_se`], 2)}`;
  return typeof row[`${key}_noise`] === "number" && row[`${key}_noise`] > 0 ? `noise ${showPlain(row[`${key}_noise`], 2)}` : null;
}

const isShare = (key) => COVERAGE.test(key) || key === "below_tail";

function scoreTable(host, rows, tail) {
  const all = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const said = all.filter((key) => rows.some((row) => ["number", "string"].includes(typeof row[key]))
    && !/_(se|noise)$/.test(key) && key !== "crps_climatology");
  const known = Object.keys(SCORES);
  const keys = [...known.filter((key) => said.includes(key)), ...said.filter((key) => !known.includes(key))];
  const heading = (key) => SCORES[key] || LATER[key] || (COVERAGE.test(key) ? `In ${showLevel(nominal(key))} intervals`
    : key === "below_tail" ? `Below the ${tail ? showLevel(tail) : "tail"} quantile` : key.replaceAll("_", " "));
  const side = (key) => (rows.some((row) => typeof row[key] === "number") ? "number" : null);
  const text = (row, key) => (isShare(key) && typeof row[key] === "number" ? showShare(row[key]) : showPlain(row[key]));
  const cell = (row, key) => {
    const below = typeof row[key] === "number" ? aside(row, key) : null;
    return tag("td", {class: side(key)}, text(row, key), below ? tag("small", {}, below) : null);
  };
  host.replaceChildren(
    tag("thead", {}, tag("tr", {}, keys.map((key) => tag("th", {scope: "col", class: side(key)}, heading(key))))),
    tag("tbody", {}, rows.map((row) => tag("tr", {}, keys.map((key, at) => at ? cell(row, key) : tag("th", {scope: "row"}, text(row, key)))))));
}
