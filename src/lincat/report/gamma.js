// Another discount factor: mean and standard deviation solved in the page, from sums that it carries
// (inference/moment_sums.py has the equations).

// x with (I − factor N) x = right, by elimination with pivots; null where there is none.
function solveFixedPoint(N, factor, right) {
  const n = right.length, rows = N.map((row, i) => [...row.map((value, j) => (i === j ? 1 : 0) - factor * value), right[i]]);
  for (let k = 0; k < n; k++) {
    let best = k;
    for (let i = k + 1; i < n; i++) if (Math.abs(rows[i][k]) > Math.abs(rows[best][k])) best = i;
    [rows[k], rows[best]] = [rows[best], rows[k]];
    if (Math.abs(rows[k][k]) < 1e-12) return null;
    for (let i = k + 1; i < n; i++) {
      const share = rows[i][k] / rows[k][k];
      if (share) for (let j = k; j <= n; j++) rows[i][j] -= share * rows[k][j];
    }
  }
  const x = new Array(n).fill(0);
  for (let k = n - 1; k >= 0; k--) x[k] = rows[k].slice(k + 1, n).reduce((rest, value, j) => rest - value * x[k + 1 + j], rows[k][n]) / rows[k][k];
  return x;
}

const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);

// Mean and standard deviation of each state at gamma; null where the equations have no solution.
function momentsAt({following, rewarded, first, second, pull, pooled, states}, gamma) {
  const [on, end, r, r2, ron] = pooled, lost = (1 - gamma) * on + end;
  const m = lost > 0 ? r / lost : 0, lost2 = (1 - gamma * gamma) * on + end, q = lost2 > 0 ? (r2 + 2 * gamma * ron * m) / lost2 : 0;
  const x = solveFixedPoint(following, gamma, first.map((value, i) => value + m * pull[i]));
  if (!x) return null;
  const y = solveFixedPoint(following, gamma * gamma, second.map((value, i) => value + 2 * gamma * dot(rewarded[i], x) + q * pull[i]));
  if (!y) return null;
  return states.map((z) => {
    const mean = dot(z, x), variance = dot(z, y) - mean * mean;
    return {mean, sd: variance >= 0 ? Math.sqrt(variance) : null};
  });
}

function renderGamma() {
  const slider = byId("gamma"), {moments, state_names: names} = answers[0];
  if (!slider || !moments) return;
  // By the length of the horizon: 1, 10, 100, 1,000 steps.
  const gamma = Number((1 - Number((10 ** -Number(slider.value)).toPrecision(2))).toFixed(5)), found = momentsAt(moments, gamma);
  byId("gamma-shown").textContent = String(gamma);
  slider.setAttribute("aria-valuetext", `gamma ${gamma}`);
  slider.style.setProperty("--filled", `${(100 * (slider.value - slider.min)) / (slider.max - slider.min)}%`);
  if (!found) {
    byId("gamma-table").replaceChildren(tag("tbody", {}, tag("tr", {}, tag("td", {class: "empty"}, "No solution: returns grow without end."))));
    return;
  }
  const all = found.flatMap(({mean, sd}) => [mean - (sd || 0), mean + (sd || 0)]), range = [Math.min(...all), Math.max(...all)];
  byId("gamma-table").replaceChildren(
    tag("thead", {}, tag("tr", {}, ["State", "Mean", "Standard deviation"].map((text, i) => tag("th", {scope: "col", class: i ? "number" : null}, text)))),
    tag("tbody", {}, found.map(({mean, sd}, i) => tag("tr", {"data-name": names[i]},
      tag("th", {scope: "row"}, tag("span", {class: "name"}, swatch(i), names[i])),
      [["mean", mean], ["sd", sd]].map(([key, value]) => tag("td", {class: "number", "data-key": key, "data-value": value === null ? "" : String(value)}, showNumber(value, range)))))));
}
