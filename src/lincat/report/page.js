// The page's controls, and what they redraw. The data are answers (inference/answer.py) as they are in
// result.json. Of one answer the states are the series; of several answers the runs are the series, and the
// states the facets.

const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const {answers, runs} = data, several = runs.length > 0, states = answers[0].state_names;
const facets = several ? states : [""];
const series = several ? runs.map((name, i) => ({name, note: [answers[i].source, answers[i].learner].filter(Boolean).join(", ")})) : states.map((name) => ({name, note: ""}));
// The answer that a series belongs to, and the number of its state there.
const placed = (facet, i) => (several ? {answer: answers[i], state: facet} : {answer: answers[0], state: i});
const distributions = facets.map((_, facet) => series.map((_, i) => {
  const {answer, state} = placed(facet, i);
  // Mass that fell off the grid was moved to its ends: nothing is known of what lies outside.
  const lost = answer.warnings.some(({code}) => code === "off_grid");
  return {...makeDistribution(answer.grid, answer.cdf[state]), lost};
}));
// Every group of states that was checked: {i: colour, run, name, validation, group}.
const checks = answers.flatMap(({validation}, run) => (validation ? validation.groups.map((group) => ({
  i: several ? run : 0, run: several ? runs[run] : null, name: several ? `${runs[run]}, ${group.group}` : group.group, validation, group})) : []));
const app = {
  chosen: new Set(data.chosen),
  facet: 0,
  level: data.level,
  threshold: data.threshold,
  focus: null,
  check: 0,
  order: {key: null, down: false},
};
const show = (x) => showNumber(x, data.range);
const QUANTILES = {q05: 0.05, q50: 0.5, q95: 0.95};

function items(facet = app.facet) {
  return series.map(({name, note}, i) => {
    const {answer, state} = placed(facet, i), {bands} = answer;
    return {i, name, note, answer, state, distribution: distributions[facet][i], bands: bands && {low: bands.low[state], high: bands.high[state]}};
  }).filter(({i}) => app.chosen.has(i));
}

// ---- the table of risks ----

const unknown = ({lost, low, high}, threshold) => lost && !(low < threshold && threshold <= high);

// The ends of a figure's interval (inference/intervals.py has the same rules); null where it is not known.
function ends({answer: {intervals}, state, bands, distribution}, key, value) {
  const found = intervals && intervals.states[state];
  if (!found || value === null) return null;
  if (key === "mean") return found.mean;
  if (key === "sd") return found.std;
  if (key in QUANTILES) return found.quantile[intervals.levels.indexOf(QUANTILES[key])] || null;
  if (key === "cvar") {
    const margin = interpolated(intervals.levels, found.cvar.map(([low, high]) => (high - low) / 2), app.level);
    return margin === null ? null : [value - margin, value + margin];
  }
  const k = indexBelow(distribution, app.threshold);
  return k < 0 || k >= distribution.K ? [value, value] : [Math.min(bands.low[k], value), Math.max(bands.high[k], value)];
}

// "± 0.3", or "0.1 – 0.4" where an interval leans to a side; nothing where the digits show no error.
function showEnds(found, value, text) {
  if (!found || !(found[0] < found[1])) return "";
  const [low, high] = found, margin = text((high - low) / 2);
  if (text !== showShare && Math.abs(low + high - 2 * value) <= 0.05 * (high - low)) return /[1-9]/.test(margin) ? `±\u00a0${margin}` : "";
  return text(low) === text(high) ? "" : `${text(low).replace(/\u00a0%$/, "")}\u200a–\u200a${text(high)}`;
}

function columns() {
  const level = showLevel(app.level), threshold = app.threshold;
  return [
    ["mean", "Mean", (distribution) => distribution.mean, show],
    ["sd", "Standard deviation", std, show],
    ["q05", "5 % quantile", (distribution) => quantile(distribution, QUANTILES.q05), show],
    ["q50", "Median", (distribution) => quantile(distribution, QUANTILES.q50), show],
    ["q95", "95 % quantile", (distribution) => quantile(distribution, QUANTILES.q95), show],
    ["cvar", `Mean of the worst\u00a0${level}`, (distribution) => cvar(distribution, app.level), show],
    ["below", threshold === null ? "Chance below …" : `Chance below\u00a0${showGiven(threshold)}`,
      (distribution) => (threshold === null || unknown(distribution, threshold) ? null : probabilityBelow(distribution, threshold)), showShare],
  ];
}

function renderTable() {
  const parts = columns();
  const rows = distributions.flatMap((_, facet) => items(facet).map((item) => ({
    ...item, facet, values: Object.fromEntries(parts.map(([key, , measure]) => [key, measure(item.distribution)]))})));
  const {key: by, down} = app.order;
  if (by !== null) rows.sort((a, b) => (down ? -1 : 1) * (by === "name" ? a.name.localeCompare(b.name) : a.values[by] - b.values[by]));
  const head = (key, text, side) => tag("th", {scope: "col", class: side, "aria-sort": by === key ? (down ? "descending" : "ascending") : null},
    tag("button", {type: "button", "data-sort": key, onclick: () => {
      app.order = by === key && down ? {key: null, down: false} : {key, down: by === key};
      renderTable();
      byId("risk").querySelector(`[data-sort="${key}"]`).focus();
    }}, text));
  byId("risk").replaceChildren(
    tag("thead", {}, tag("tr", {}, several ? tag("th", {scope: "col"}, "State") : null, head("name", several ? "Run" : "State"),
      parts.map(([key, text]) => head(key, text, "number")))),
    tag("tbody", {}, rows.map((row, at) => tag("tr", {
      "data-series": row.i, "data-name": row.name, class: several && by === null && at && rows[at - 1].facet !== row.facet ? "apart" : null},
      several ? tag("td", {}, facets[row.facet]) : null,
      tag("th", {scope: "row"}, tag("span", {class: "name"}, swatch(row.i), row.name, row.note ? tag("small", {}, row.note) : null)),
      parts.map(([key, , , text]) => {
        const value = row.values[key], found = ends(row, key, value), between = showEnds(found, value, text);
        return tag("td", {class: "number", "data-key": key, "data-value": value === null ? "" : String(value), "data-ends": found ? found.join(" ") : null},
          text(value), between ? tag("small", {class: "interval"}, between) : null);
      })))));
  if (!rows.length) byId("risk").replaceChildren(tag("tbody", {}, tag("tr", {}, tag("td", {class: "empty"}, nothing()))));
}

const nothing = () => `Choose at least one ${several ? "run" : "state"} above.`;

// ---- charts ----

function renderDistributions() {
  const chosen = items();
  for (const id of ["ridges", "cdf"]) if (!chosen.length) byId(id).replaceChildren(tag("p", {class: "empty"}, nothing()));
  if (!chosen.length) return;
  const read = (i) => columns().map(([key, name, measure, text]) => {
    const item = chosen.find((one) => one.i === i), value = measure(item.distribution);
    return {name, value: [text(value), showEnds(ends(item, key, value), value, text)].filter(Boolean).join(" ")};
  }).concat(series[i].note ? [{name: series[i].note, value: ""}] : []);
  const {range} = data, {level, threshold} = app;
  const whiskers = (item) => [ends(item, "mean", item.distribution.mean), ends(item, "cvar", cvar(item.distribution, level))].filter(Boolean);
  drawRidges(byId("ridges"), chosen, {range, level, threshold, read, whiskers});
  // More than three bands hide each other: then it is the first, or the one in focus.
  drawCdf(byId("cdf"), chosen, {range, level, threshold, banded: ({i}) => chosen.length <= 3 || i === chosen[0].i});
}

// A curve stands under the level that it was recorded at, which the slider cannot change.
const recorded = [...new Set(answers.flatMap(({curves}) => (curves ? [curves.level] : [])))].sort((a, b) => a - b);

function renderCurves() {
  if (!recorded.length) return;
  const lines = (key, levels) => items().flatMap(({i, name}) => {
    const {answer: {curves, state_names: names}, state} = placed(app.facet, i);
    const at = curves && levels.includes(curves.level) ? curves.state_names.indexOf(names[state]) : -1;
    return at < 0 ? [] : [{i, name, xs: curves.transitions, ys: curves[key][at]}];
  });
  drawCurves(byId("curve-mean"), lines("mean", recorded), {title: "Mean"});
  recorded.forEach((level, k) => drawCurves(byId(`curve-cvar-${k}`), lines("cvar", [level]), {title: `Mean of the worst ${showLevel(level)}`}));
}

// Neither the states nor the level change these.
function renderMasses() {
  if (!byId("curve-mass")) return;
  const {transitions: xs, clipped, negative_mass: negative} = answers[0].curves;
  const lines = [{name: "clipped mass", ys: clipped}, {name: "negative mass", ys: negative}].filter(({ys}) => Math.max(...ys) > 1e-9);
  drawCurves(byId("curve-mass"), lines.map((line, i) => ({i, xs, ...line})),
    {title: "Mass", zero: true, format: (p) => (p === 0 ? "0 %" : `${showPlain(100 * p, 2)} %`)});
}

function renderCalibration() {
  if (!checks.length) return;
  scoreTable(byId("scores"), checks);
  const current = several ? null : checks[app.check];
  drawCoverage(byId("coverage"), checks, current);
  if (!current) return;
  drawPit(byId("pit"), current.group.pit, current.group.n_returns);
  drawCompared(byId("compared"), current, data.range);
}

// ---- controls ----

function render() {
  for (const place of document.querySelectorAll("[data-text=level]")) place.textContent = showLevel(app.level);
  for (const place of document.querySelectorAll("[data-text=facet]")) place.textContent = facets[app.facet];
  for (const place of document.querySelectorAll("[data-text=threshold]")) place.textContent = app.threshold === null ? "" : `a return of ${showGiven(app.threshold)}`;
  const slider = byId("level");
  slider.setAttribute("aria-valuetext", showLevel(app.level));
  slider.style.setProperty("--filled", `${(100 * (slider.value - slider.min)) / (slider.max - slider.min)}%`);
  hideReadout();
  renderDistributions();
  renderTable();
  renderCurves();
}

let waiting = 0;
function soon(draw) {
  cancelAnimationFrame(waiting);
  waiting = requestAnimationFrame(draw);
}

// What is pointed at, in a chip, a ridge or a row, is brought out everywhere.
function bringOut(i) {
  if (app.focus === i) return;
  app.focus = i;
  document.body.classList.toggle("focused", i !== null);
  for (const part of document.querySelectorAll("[data-series]")) part.classList.toggle("bright", Number(part.dataset.series) === i);
}

function chips(host, type, entries, picked, change) {
  entries.forEach(({name, note}, i) => {
    const box = tag("input", {type, name: host.id, value: i, onchange: (event) => change(i, event.target.checked)});
    box.checked = picked(i);
    host.append(tag("label", {class: "chip", title: note || null, "data-series": type === "checkbox" ? i : null}, box, type === "checkbox" ? swatch(i) : null, tag("span", {}, name)));
  });
}

function setUp() {
  chips(byId("chips"), "checkbox", series, (i) => app.chosen.has(i), (i, on) => {
    if (on) app.chosen.add(i);
    else app.chosen.delete(i);
    render();
  });
  const every = (on) => () => {
    app.chosen = new Set(on ? series.keys() : []);
    for (const box of byId("chips").querySelectorAll("input")) box.checked = on;
    render();
  };
  byId("all").addEventListener("click", every(true));
  byId("none").addEventListener("click", every(false));
  if (byId("facets")) chips(byId("facets"), "radio", facets.map((name) => ({name})), (i) => i === 0, (i) => { app.facet = i; render(); });
  const slider = byId("level"), threshold = byId("threshold");
  slider.value = 100 * app.level;
  slider.addEventListener("input", () => { app.level = Number(slider.value) / 100; soon(render); });
  threshold.value = app.threshold === null ? "" : app.threshold;
  threshold.addEventListener("input", () => {
    app.threshold = threshold.value.trim() === "" || !Number.isFinite(threshold.valueAsNumber) ? null : threshold.valueAsNumber;
    soon(render);
  });
  if (byId("groups")) chips(byId("groups"), "radio", checks, (i) => i === 0, (i) => { app.check = i; renderCalibration(); });
  document.addEventListener("pointerover", (event) => {
    const part = event.target.closest && event.target.closest("[data-series]");
    bringOut(part && app.chosen.has(Number(part.dataset.series)) ? Number(part.dataset.series) : null);
  });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hideReadout(); });
  document.body.append(readout);
  if (byId("gamma")) {
    byId("gamma").value = -Math.log10(Math.max(1 - answers[0].gamma, 1e-3));
    byId("gamma").addEventListener("input", () => soon(renderGamma));
  }
  const everything = () => { render(); renderMasses(); renderCalibration(); renderGamma(); };
  let width = 0;
  new ResizeObserver(() => {
    if (document.documentElement.clientWidth === width) return;
    width = document.documentElement.clientWidth;
    soon(everything);
  }).observe(document.documentElement);
  // On paper nothing can be opened.
  window.addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((part) => { part.open = true; }));
  everything();
}

setUp();
window.lincat = Object.freeze({distributions, data, quantile, cvar, std, cdfAt, probabilityBelow, showNumber, showShare});
