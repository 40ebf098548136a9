// Ridgelines, CDFs and learning curves. `chosen` holds what to draw: {i, name, distribution, note} each.

// ---- ridgelines ----

// Atoms that tower over all others would flatten them: they are drawn as needles with their mass.
function needles(distribution) {
  const order = Array.from({length: distribution.K + 1}, (_, k) => k).sort((a, b) => mass(distribution, b) - mass(distribution, a));
  for (let j = 0; j < 3 && j < distribution.K; j++) {
    const rest = mass(distribution, order[j + 1]);
    if (mass(distribution, order[j]) > 4 * rest) return order.slice(0, j + 1);
  }
  return [];
}

// Masses as heights in [0, 1], needles levelled to their neighbours.
function profile(distribution, sharp) {
  const isSharp = new Set(sharp), heights = [];
  const at = (k) => (k >= 0 && k <= distribution.K && !isSharp.has(k) ? Math.max(mass(distribution, k), 0) : 0);
  for (let k = 0; k <= distribution.K; k++) heights.push(isSharp.has(k) ? Math.max(at(k - 1), at(k + 1)) : at(k));
  // What the needles leave over stays small where it is next to nothing.
  const top = Math.max(...heights, 0.15 / (distribution.K + 1));
  return heights.map((height) => height / top);
}

// Where the worst `level` share ends, with each atom's mass spread to its neighbours.
function tailEnd(distribution, level) {
  let before = 0, from = distribution.low;
  for (let k = 0; k <= distribution.K; k++) {
    const reached = (k ? distribution.F[k - 1] : 0) + mass(distribution, k) / 2;
    if (reached >= level) return reached > before ? from + ((level - before) / (reached - before)) * (atom(distribution, k) - from) : from;
    before = reached;
    from = atom(distribution, k);
  }
  return distribution.high;
}

function drawRidges(host, chosen, {range, level, threshold, read, whiskers}) {
  const width = Math.max(host.clientWidth, 240), narrow = width < 620;
  const longest = Math.max(...chosen.map(({name}) => name.length), 0);
  const left = narrow ? 8 : Math.min(170, 26 + 7.2 * longest);
  const row = narrow ? 66 : chosen.length <= 2 ? 110 : chosen.length <= 10 ? 58 : 42, rise = narrow ? 40 : row * 1.2;
  const top = Math.max(rise - row, 0) + 10, height = top + row * chosen.length + 44;
  const plot = frame(host, {
    height, left, right: 14, top, bottom: 42,
    x: {low: range[0], high: range[1], title: "Return"}, y: {low: 0, high: 1, hidden: true},
    label: `Return distributions of ${chosen.map(({name}) => name).join(", ")}`,
  });
  chosen.forEach((item, place) => {
    const base = top + row * (place + 1) - 2;
    plot.root.append(ridge(plot, item, {base, rise, range, level, narrow, row, read, whiskers: whiskers(item)}));
  });
  if (threshold !== null && threshold > range[0] && threshold < range[1]) {
    plot.root.append(svg("line", {class: "threshold", x1: plot.x(threshold), x2: plot.x(threshold), y1: 4, y2: plot.bottom}));
  }
}

function ridge(plot, {i, name, distribution}, {base, rise, range, level, narrow, row, read, whiskers}) {
  const group = svg("g", {class: `ridge ${marks(i)}`, "data-series": i, "data-name": name});
  const sharp = needles(distribution), heights = profile(distribution, sharp);
  const inside = (x) => Math.min(Math.max(plot.x(x), plot.left), plot.right);
  const curve = heights.map((height, k) => [inside(atom(distribution, k)), base - height * rise * 0.92]);
  const ground = (points) => [[points[0][0], base], ...points, [points[points.length - 1][0], base]];
  const heightAt = (x) => {
    const u = Math.min(Math.max((x - distribution.low) / distribution.spacing, 0), distribution.K), k = Math.min(Math.floor(u), distribution.K - 1);
    return base - (heights[k] + (u - k) * (heights[k + 1] - heights[k])) * rise * 0.92;
  };
  const end = tailEnd(distribution, level), tail = curve.filter((_, k) => atom(distribution, k) < end);
  tail.push([inside(end), heightAt(end)]);
  group.append(
    svg("path", {class: "under", d: path(ground(curve))}),
    svg("path", {class: "body", d: path(ground(curve))}),
    svg("path", {class: "tail", d: path(ground(tail))}),
    svg("path", {class: "outline", d: path(curve)}));
  const needle = Math.min(row * 0.82, rise);
  for (const k of sharp) {
    const x = inside(atom(distribution, k)), toRight = x < (plot.left + plot.right) * 0.6;
    group.append(
      svg("line", {class: "needle", x1: x, x2: x, y1: base, y2: base - needle}),
      svg("text", {class: "needle-text", x: x + (toRight ? 7 : -7), y: base - needle + 11, "text-anchor": toRight ? "start" : "end"},
        `${showShare(mass(distribution, k), 0)} at ${showNumber(atom(distribution, k), range)}`));
  }
  const marker = (kind, x, least) => {
    const y = Math.min(heightAt(x), base - least);
    return x < range[0] || x > range[1] ? null
      : svg("line", {class: kind, x1: plot.x(x), x2: plot.x(x), y1: base, y2: y});
  };
  group.append(...[marker("cvar", cvar(distribution, level), 14), marker("mean", distribution.mean, 14)].filter(Boolean));
  for (const [low, high] of whiskers) group.append(svg("line", {class: "whisker", x1: inside(low), x2: inside(high), y1: base, y2: base}));
  const most = narrow ? 44 : 22, short = name.length > most ? name.slice(0, most - 1) + "…" : name;
  group.append(narrow
    ? svg("text", {class: "ridge-name", x: plot.left, y: base - row + 18}, short)
    : svg("text", {class: "ridge-name", x: plot.left - 12, y: base - 3, "text-anchor": "end"}, short));
  const area = svg("rect", {class: "catch", x: 0, y: base - row + 2, width: plot.width, height: row});
  area.addEventListener("pointermove", (event) => showReadout(name, read(i), event.clientX, event.clientY));
  area.addEventListener("pointerleave", hideReadout);
  group.append(area);
  return group;
}

// ---- CDFs ----

function drawCdf(host, chosen, {range, level, threshold, banded}) {
  const narrow = host.clientWidth < 620;
  const plot = frame(host, {
    height: narrow ? 280 : 340, left: 50,
    x: {low: range[0], high: range[1], title: "Return"},
    y: {low: 0, high: 1, format: (p) => showShare(p, 0), count: 5},
    label: `Chance of a return at most x, for ${chosen.map(({name}) => name).join(", ")}`,
  });
  if (!chosen.length) return;
  const within = ({distribution}) => Array.from({length: distribution.K + 1}, (_, k) => atom(distribution, k));
  for (const item of chosen) {
    if (!item.bands) continue;
    const {low, high} = item.bands, xs = within(item);
    const upper = clipPoints(steps(xs, [...high, 1], plot), plot), lower = clipPoints(steps(xs, [...low, 1], plot), plot);
    plot.root.append(svg("path", {class: `band ${banded(item) ? "" : "spare"} ${marks(item.i)}`, "data-series": item.i, d: path([...upper, ...lower.reverse()]) + "Z"}));
  }
  guide(plot, {y: level, text: showLevel(level), kind: "level"});
  if (threshold !== null) guide(plot, {x: threshold, range, kind: "threshold"});
  for (const item of chosen) {
    const line = clipPoints(steps(within(item), [...item.distribution.F], plot), plot);
    line.unshift([plot.left, line[0][1]]);
    line.push([plot.right, plot.y(1)]);
    plot.root.append(svg("path", {class: `line ${marks(item.i)}`, "data-series": item.i, d: path(line), "stroke-dasharray": dashes(item.i)}));
  }
  const finest = chosen.reduce((best, item) => item.distribution.spacing < best.distribution.spacing ? item : best);
  const stops = within(finest).filter((x) => x >= range[0] && x <= range[1]);
  crosshair(host, plot, stops, (at) => ({
    head: `Return at most ${showNumber(stops[at], range)}`,
    rows: limited(chosen.map((item) => {
      const k = indexAtOrBelow(item.distribution, stops[at]);
      const between = item.bands && k >= 0 && k < item.distribution.K ? ` (${showShare(item.bands.low[k])} – ${showShare(item.bands.high[k])})` : "";
      return {series: item.i, name: item.name, value: showShare(cdfAt(item.distribution, stops[at])) + between};
    })),
  }));
}

function guide(plot, {x, y, text, range, kind}) {
  if (y !== undefined) {
    plot.root.append(
      svg("line", {class: `guide ${kind}`, x1: plot.left, x2: plot.right, y1: plot.y(y), y2: plot.y(y)}),
      svg("text", {class: "guide-text", x: plot.right, y: plot.y(y) - 4, "text-anchor": "end"}, `worst ${text}`));
  } else if (x > range[0] && x < range[1]) {
    plot.root.append(svg("line", {class: `guide ${kind}`, x1: plot.x(x), x2: plot.x(x), y1: plot.top, y2: plot.bottom}));
  }
}

function limited(rows, most = 12) {
  return rows.length <= most ? rows : [...rows.slice(0, most), {name: `and ${rows.length - most} more`, value: ""}];
}

// ---- curves over the number of transitions ----

// lines: [{i, name, xs, ys}]; x is logarithmic.
function drawCurves(host, lines, {title, format, zero = false}) {
  const points = lines.flatMap(({xs, ys}) => xs.map((x, k) => [x, ys[k]])).filter(([x, y]) => x > 0 && y !== null);
  if (!points.length) return host.replaceChildren(tag("p", {class: "empty"}, "Nothing recorded for the chosen states."));
  const xs = points.map(([x]) => x), ys = points.map(([, y]) => y);
  const first = Math.min(...xs), last = Math.max(...xs);
  let low = Math.min(...ys, zero ? 0 : Infinity), high = Math.max(...ys);
  const margin = (high - low || Math.abs(high) || 1) * 0.06;
  [low, high] = [zero ? 0 : low - margin, high + margin];
  const widest = Math.max(...(format ? ticks(low, high, 4).map(format) : tickTexts(ticks(low, high, 4)).texts).map((text) => text.length));
  const plot = frame(host, {
    height: 230, left: Math.max(38, 14 + 6.6 * widest), right: 14, top: 16,
    x: {low: first < last ? first : first / 2, high: first < last ? last : last * 2, log: true, title: "Transitions seen"},
    y: {low, high, format, count: 4}, label: `${title}, over the transitions seen`,
  });
  for (const {i, xs: along, ys: values} of lines) {
    const drawn = along.map((x, k) => [x, values[k]]).filter(([x, y]) => x > 0 && y !== null).map(([x, y]) => [plot.x(x), plot.y(y)]);
    if (!drawn.length) continue;
    const [endX, endY] = drawn[drawn.length - 1];
    plot.root.append(
      svg("path", {class: `line ${marks(i)}`, "data-series": i, d: path(drawn), "stroke-dasharray": dashes(i)}),
      svg("circle", {class: `dot ${marks(i)}`, "data-series": i, cx: endX, cy: endY, r: 3}));
  }
  const stops = [...new Set(xs)].sort((a, b) => a - b);
  crosshair(host, plot, stops, (at) => ({
    head: `${title} after ${stops[at].toLocaleString("en-US")}`,
    rows: limited(lines.map(({i, name, xs: along, ys: values}) => {
      const value = values[along.indexOf(stops[at])];
      return {series: i, name, value: value === undefined || value === null ? "–" : (format || ((y) => showNumber(y, [low, high])))(value)};
    })),
  }));
}
