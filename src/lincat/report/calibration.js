// How the figures did against fresh returns.

const coverageLevels = (checks) => [...new Set(checks.flatMap(({validation}) => validation.levels))].sort((a, b) => a - b);
const covered = ({validation, group}, level) => group.coverage[validation.levels.indexOf(level)];

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
// `current` is the check to bring out; without one all are.
function drawCoverage(host, checks, current) {
  const levels = coverageLevels(checks);
  const row = Math.max(52, 20 + 9 * checks.length), height = 12 + row * levels.length + 42;
  const plot = frame(host, {
    height, left: 52, right: 18, top: 6, x: {low: 0, high: 1, title: "Share of returns inside the interval", format: (p) => showShare(p, 0), values: [0, 0.25, 0.5, 0.75, 1]},
    y: {low: 0, high: 1, hidden: true}, label: "Nominal against actual coverage of intervals",
  });
  const middles = levels.map((_, line) => plot.top + row * (line + 0.5));
  levels.forEach((level, line) => {
    const middle = middles[line];
    plot.root.append(
      svg("line", {class: "grid", x1: plot.left, x2: plot.right, y1: middle, y2: middle}),
      svg("text", {class: "ridge-name", x: plot.left - 10, y: middle + 4, "text-anchor": "end"}, showLevel(level)),
      svg("line", {class: "nominal", x1: plot.x(level), x2: plot.x(level), y1: middle - row * 0.36, y2: middle + row * 0.36}));
    checks.filter((check) => covered(check, level) !== undefined).forEach((check, place, {length}) => {
      const bright = check === current || current === null, x = plot.x(covered(check, level));
      const y = middle + (length > 1 ? (place / (length - 1) - 0.5) * Math.min(row * 0.62, 9 * length) : 0);
      plot.root.append(svg("circle", {class: `dot ${bright ? marks(check.i) : "quiet"}`, cx: x, cy: y, r: bright ? 5 : 3.5}));
      if (check === current) plot.root.append(svg("text", {class: "value", x: x - 10, y: y + 4, "text-anchor": "end"}, showShare(covered(check, level), 0)));
    });
  });
  if (!levels.length) return;
  const read = (event) => {
    const box = plot.root.getBoundingClientRect(), y = (event.clientY - box.top) * (plot.width / box.width);
    const line = middles.reduce((best, middle, i) => Math.abs(middle - y) < Math.abs(middles[best] - y) ? i : best, 0);
    showReadout(`${showLevel(levels[line])} intervals held`, limited(checks.map((check) => ({
      series: current === null || check === current ? check.i : undefined, name: check.name, value: showShare(covered(check, levels[line]))}))), event.clientX, event.clientY);
  };
  host.onpointermove = host.onpointerdown = read;
  host.onpointerleave = hideReadout;
}

// Predicted and observed CDF of one group, with the band that the observed one is sure to; an exact one has none.
function drawCompared(host, {validation: {atoms, method}, group}, range) {
  const {predicted_cdf: predicted, empirical_cdf: empirical, empirical_low: low, empirical_high: high} = group;
  const ends = [Math.max(range[0], atoms[0]), Math.min(range[1], atoms[atoms.length - 1])], exact = method === "exact";
  const plot = frame(host, {
    height: 300, left: 50, x: {low: ends[0], high: ends[1], title: "Return"},
    y: {low: 0, high: 1, format: (p) => showShare(p, 0), count: 5}, label: "Predicted and observed chance of a return at most x",
  });
  const corners = (values) => clipPoints(steps(atoms, values, plot), plot);
  const line = (values) => {
    const points = corners(values);
    return path([[plot.left, points[0][1]], ...points, [plot.right, points[points.length - 1][1]]]);
  };
  if (!exact) plot.root.append(svg("path", {class: "band observed", d: path([...corners(high), ...corners(low).reverse()]) + "Z"}));
  plot.root.append(svg("path", {class: "line observed", d: line(empirical)}), svg("path", {class: `line ${marks(0)}`, d: line(predicted)}));
  const shown = atoms.map((_, k) => k).filter((k) => atoms[k] >= ends[0] && atoms[k] <= ends[1]);
  crosshair(host, plot, shown.map((k) => atoms[k]), (at) => {
    const k = shown[at], band = exact ? "" : ` (${showShare(low[k])} – ${showShare(high[k])})`;
    return {
      head: `Return at most ${showNumber(atoms[k], range)}`,
      rows: [{series: 0, name: "predicted", value: showShare(predicted[k])}, {name: exact ? "exact" : "observed", value: showShare(empirical[k]) + band}],
    };
  });
}

// The table of scores, a line for each column: its heading ("{tail}" is the level of CVaR), the score of the
// group, and how it is written. What the group holds as score_se or score_noise stands below it.
const SCORES = [
  ["States", "n_states", showPlain],
  ["Returns", "n_returns", showPlain],
  ["Error of the mean", "mean_error", showPlain],
  ["W1 distance", "w1", showPlain],
  ["W1 per state", "w1_states", showPlain],
  ["CRPS", "crps", showPlain],
  ["Skill", "skill", showPlain],
  ["Mean of the worst {tail}, predicted", "cvar_predicted", showPlain],
  ["Mean of the worst {tail}, realised", "cvar_realised", showPlain],
  ["Below the {tail} quantile", "below_tail", showShare],
  ["Below it as reported", "below_quantile", showShare],
];

// "± 0.01" below a score, or what chance alone would make of it.
function aside(error, noise, text) {
  if (typeof error === "number") return `± ${text === showShare ? showShare(error) : showPlain(error, 2)}`;
  return typeof noise === "number" && noise > 0 ? `noise ${showPlain(noise, 2)}` : null;
}

function scoreTable(host, checks) {
  const tails = [...new Set(checks.map(({validation}) => validation.tail))];
  const tail = tails.map(showLevel).join(" / ");
  const scores = SCORES.filter(([, key]) => checks.some(({group}) => group[key] !== null)).map(([heading, key, text]) => ({
    heading: heading.replace("{tail}", tail), text, value: ({group}) => group[key], below: ({group}) => aside(group[`${key}_se`], group[`${key}_noise`], text)}));
  const coverage = coverageLevels(checks).map((level) => ({
    heading: `In ${showLevel(level)} intervals`, text: showShare, value: (check) => covered(check, level),
    below: ({validation, group}) => aside(group.coverage_se[validation.levels.indexOf(level)], null, showShare)}));
  const cell = ({value, text, below}, check) => {
    const found = value(check) ?? null, under = found === null ? null : below(check);
    return tag("td", {class: "number"}, text(found), under ? tag("small", {}, under) : null);
  };
  const columns = [...scores, ...coverage], named = checks[0].run !== null;
  host.replaceChildren(
    tag("thead", {}, tag("tr", {}, named ? tag("th", {scope: "col"}, "Run") : null, tag("th", {scope: "col"}, "Group"),
      columns.map(({heading}) => tag("th", {scope: "col", class: "number"}, heading)))),
    tag("tbody", {}, checks.map((check) => tag("tr", {}, named ? tag("th", {scope: "row"}, check.run) : null,
      tag(named ? "td" : "th", {scope: named ? null : "row"}, check.group.group), columns.map((column) => cell(column, check))))));
}
