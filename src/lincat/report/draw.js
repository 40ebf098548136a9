// What every chart is made of: elements, numbers as text, scales, axes, the box that follows the
// pointer. Texts are set as text, never as markup: names are the user's.

const SVG = "http://www.w3.org/2000/svg";
const COLOURS = 6; // times four kinds of dashes: 24 lines that can be told apart without colour
const DASHES = ["", "7 4", "2 3", "9 3 2 3"];

function fill(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

function tag(name, attributes, ...children) {
  return fill(document.createElement(name), attributes, children);
}

function svg(name, attributes, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

const marks = (i) => `series c${i % COLOURS}`;
const dashes = (i) => DASHES[Math.floor(i / COLOURS) % DASHES.length] || null;

function swatch(i) {
  return svg("svg", {class: `swatch ${marks(i)}`, width: 22, height: 10, "aria-hidden": "true"},
    svg("line", {x1: 1, x2: 21, y1: 5, y2: 5, "stroke-dasharray": dashes(i)}));
}

// ---- numbers as text (numbers.py has the same rules) ----

const SUPERSCRIPTS = {"-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹"};
const magnitude = (x) => (x > 0 ? Math.floor(Math.log10(x) + 1e-12) : 0);
const power = (n) => "10" + [...String(n)].map((sign) => SUPERSCRIPTS[sign]).join("");

function signed(value, digits) {
  const text = Math.abs(value).toLocaleString("en-US", {minimumFractionDigits: digits, maximumFractionDigits: digits, roundingMode: "halfEven"});
  return value < 0 && /[1-9]/.test(text) ? "−" + text : text;
}

function showNumber(value, [low, high]) {
  if (value === null || !Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.max(Math.abs(low), Math.abs(high));
  const coarse = high > low ? magnitude((high - low) / 4) : magnitude(size);
  if (size >= 1e-3 && size < 1e7) return signed(value, Math.min(Math.max(0, 2 - coarse), 12));
  let exponent = Math.max(magnitude(Math.abs(value)), coarse - 2);
  const digits = Math.min(Math.max(exponent - coarse + 2, 0), 9);
  let mantissa = value / 10 ** exponent;
  if (Math.abs(Number(mantissa.toFixed(digits))) >= 10) [exponent, mantissa] = [exponent + 1, mantissa / 10];
  if (Number(mantissa.toFixed(digits)) === 0) return "0";
  return signed(mantissa, digits) + (exponent ? "\u00a0×\u00a0" + power(exponent) : "");
}

// Any number for itself, to so many digits.
function showPlain(value, digits = 3) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return String(value);
  if (Number.isInteger(value) && Math.abs(value) < 1e9) return value.toLocaleString("en-US").replace("-", "−");
  const size = magnitude(Math.abs(value));
  if (size >= 9 || size < -4) {
    const [mantissa, exponent] = value.toExponential(digits - 1).split("e");
    return `${mantissa.replace("-", "−")}\u00a0×\u00a0${power(Number(exponent))}`;
  }
  return signed(value, Math.max(0, digits - 1 - size));
}

// A number that somebody gave, as they would write it.
function showGiven(value) {
  if (value === 0 || (Math.abs(value) >= 1e-4 && Math.abs(value) < 1e7)) {
    return Number(value.toPrecision(7)).toLocaleString("en-US", {maximumFractionDigits: 12}).replace("-", "−");
  }
  const [mantissa, exponent] = value.toExponential().split("e");
  return `${Number(Number(mantissa).toPrecision(7))}\u00a0×\u00a0${power(Number(exponent))}`.replace("-", "−");
}

function showShare(share, fine = 1) {
  if (share === null || share === undefined) return "–";
  const percent = 100 * share, gap = Math.min(percent, 100 - percent);
  if (gap <= 1e-9) return `${percent.toFixed(0)}\u00a0%`;
  if (gap < 0.01) return percent < 50 ? "<\u00a00.01\u00a0%" : ">\u00a099.99\u00a0%";
  return `${percent.toFixed(gap < 0.095 || percent < 0.995 ? 2 : fine)}\u00a0%`;
}

// "5 %", "0.5 %": a level as it was chosen.
const showLevel = (level) => `${Number((100 * level).toPrecision(6))}\u00a0%`;

function showCount(n) {
  for (const [size, sign] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
    if (n >= size) return `${Number((n / size).toPrecision(3))} ${sign}`;
  }
  return String(Number(n.toPrecision(3)));
}

// ---- scales ----

function linear(low, high, from, to) {
  const scale = (x) => from + ((x - low) / (high - low)) * (to - from);
  scale.invert = (pixel) => low + ((pixel - from) / (to - from)) * (high - low);
  return scale;
}

function logarithmic(low, high, from, to) {
  const inner = linear(Math.log10(low), Math.log10(high), from, to);
  const scale = (x) => inner(Math.log10(x));
  scale.invert = (pixel) => 10 ** inner.invert(pixel);
  return scale;
}

// Round numbers between low and high, about `count` of them.
function ticks(low, high, count) {
  const rough = (high - low) / Math.max(count, 1), unit = 10 ** Math.floor(Math.log10(rough));
  const step = unit * [1, 2, 5, 10].find((factor) => factor * unit >= rough * 0.7);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) found.push(i * step);
  return found;
}

// One, one to five, or one-two-five per decade, as there is room.
function logTicks(low, high, count) {
  const at = (digits) => {
    const found = [];
    for (let e = Math.floor(Math.log10(low)); e <= Math.log10(high); e++) {
      for (const digit of digits) {
        const x = digit * 10 ** e;
        if (x >= low * 0.999 && x <= high * 1.001) found.push(x);
      }
    }
    return found;
  };
  const all = [[1, 2, 5], [1, 3], [1]].map(at);
  return all.find((found) => found.length <= count) || all[2].filter((_, i) => i % Math.ceil(all[2].length / count) === 0);
}

// The texts of ticks, and the power of ten taken out of them.
function tickTexts(values) {
  const size = Math.max(...values.map(Math.abs)), step = values.length > 1 ? values[1] - values[0] : size;
  const exponent = size >= 1e6 || (size > 0 && size < 1e-2) ? 3 * Math.floor(magnitude(size) / 3) : 0;
  const digits = Math.min(Math.max(0, -Math.floor(Math.log10(step / 10 ** exponent) + 1e-9)), 12);
  return {texts: values.map((x) => signed(x / 10 ** exponent, digits)), exponent};
}

// ---- a frame with axes ----

// Options: x, y = {low, high, log, title, format}; returns the frame to draw into.
function frame(host, {height, x, y, label, left = 46, right = 12, top = 10, bottom = 40}) {
  const width = Math.max(host.clientWidth, 240);
  const root = svg("svg", {viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label});
  const plot = {root, width, height, left, right: width - right, top, bottom: height - bottom};
  plot.x = (x.log ? logarithmic : linear)(x.low, x.high, plot.left, plot.right);
  plot.y = (y.log ? logarithmic : linear)(y.low, y.high, plot.bottom, plot.top);
  const axes = svg("g", {class: "axes", "aria-hidden": "true"});
  root.append(axes);
  if (!y.hidden) {
    const values = (y.log ? logTicks : ticks)(y.low, y.high, y.count || Math.max(2, (plot.bottom - plot.top) / 48));
    const {texts, exponent} = y.format ? {texts: values.map(y.format), exponent: 0} : tickTexts(values);
    values.forEach((value, i) => axes.append(
      svg("line", {class: "grid", x1: plot.left, x2: plot.right, y1: plot.y(value), y2: plot.y(value)}),
      svg("text", {class: "tick", x: plot.left - 7, y: plot.y(value) + 4, "text-anchor": "end"}, texts[i])));
    if (exponent) axes.append(svg("text", {class: "tick", x: 2, y: plot.top - 2}, "× " + power(exponent)));
  }
  xAxis(axes, plot, x);
  host.replaceChildren(root);
  return plot;
}

function xAxis(axes, plot, x) {
  const room = Math.max(2, (plot.right - plot.left) / 78);
  const values = x.values || (x.log ? logTicks : ticks)(x.low, x.high, room);
  const {texts, exponent} = x.format ? {texts: values.map(x.format), exponent: 0}
    : x.log ? {texts: values.map(showCount), exponent: 0} : tickTexts(values);
  axes.append(svg("line", {class: "base", x1: plot.left, x2: plot.right, y1: plot.bottom, y2: plot.bottom}));
  values.forEach((value, i) => axes.append(
    svg("line", {class: "base", x1: plot.x(value), x2: plot.x(value), y1: plot.bottom, y2: plot.bottom + 4}),
    svg("text", {class: "tick", x: plot.x(value), y: plot.bottom + 17, "text-anchor": "middle"}, texts[i])));
  const title = x.title + (exponent ? ` (× ${power(exponent)})` : "");
  axes.append(svg("text", {class: "axis-title", x: (plot.left + plot.right) / 2, y: plot.bottom + 34, "text-anchor": "middle"}, title));
}

const path = (points) => "M" + points.map(([x, y]) => `${x.toFixed(2)},${y.toFixed(2)}`).join("L");

// The corners of a step function that jumps to values[i] at xs[i].
function steps(xs, values, plot, before = 0) {
  const points = [];
  let last = before;
  xs.forEach((x, i) => {
    points.push([plot.x(x), plot.y(last)], [plot.x(x), plot.y(values[i])]);
    last = values[i];
  });
  return points;
}

// Cut to the plot's width: what lies left and right of it is drawn at its edges.
function clipPoints(points, plot) {
  const inside = (x) => Math.min(Math.max(x, plot.left), plot.right);
  return points.map(([x, y]) => [inside(x), y]);
}

// ---- the box that follows the pointer ----

const readout = tag("div", {class: "readout", role: "status", hidden: true});

function showReadout(head, rows, x, y) {
  readout.replaceChildren(
    tag("p", {class: "readout-head"}, head),
    tag("table", {}, tag("tbody", {}, rows.map(({series, name, value}) => tag("tr", {},
      tag("td", {}, series === undefined ? null : swatch(series)), tag("td", {}, name), tag("td", {class: "number"}, value))))));
  readout.hidden = false;
  const box = readout.getBoundingClientRect(), wide = document.documentElement.clientWidth;
  const beside = x + 16 + box.width > wide ? x - 16 - box.width : x + 16;
  readout.style.left = `${Math.max(4, Math.min(beside, wide - box.width - 4)) + window.scrollX}px`;
  readout.style.top = `${Math.max(4, Math.min(y - 12, window.innerHeight - box.height - 4)) + window.scrollY}px`;
}

function hideReadout() {
  readout.hidden = true;
}

// A line that follows the pointer, or the arrow keys: stops are the values it can stand at,
// read(i) says what is to be read there, as {head, rows}.
function crosshair(host, plot, stops, read) {
  const line = svg("line", {class: "crosshair", y1: plot.top, y2: plot.bottom, visibility: "hidden"});
  plot.root.append(line);
  let at = -1;
  const hide = () => { at = -1; line.setAttribute("visibility", "hidden"); hideReadout(); };
  const stand = (i, clientY) => {
    at = Math.min(Math.max(i, 0), stops.length - 1);
    const x = plot.x(stops[at]), box = plot.root.getBoundingClientRect(), factor = box.width / plot.width;
    line.setAttribute("x1", x);
    line.setAttribute("x2", x);
    line.setAttribute("visibility", "visible");
    const {head, rows} = read(at);
    showReadout(head, rows, box.left + x * factor, clientY ?? box.top + plot.top + 24);
  };
  const nearest = (x) => stops.reduce((best, stop, i) => Math.abs(plot.x(stop) - x) < Math.abs(plot.x(stops[best]) - x) ? i : best, 0);
  host.onpointermove = host.onpointerdown = (event) => {
    const box = plot.root.getBoundingClientRect();
    stand(nearest((event.clientX - box.left) * (plot.width / box.width)), event.clientY);
  };
  host.onpointerleave = hide;
  host.onblur = hide;
  host.onkeydown = (event) => {
    const move = {ArrowRight: at + 1, ArrowLeft: at < 0 ? stops.length - 1 : at - 1, Home: 0, End: stops.length - 1}[event.key];
    if (event.key === "Escape") hide();
    if (move === undefined) return;
    event.preventDefault();
    stand(move);
  };
  host.tabIndex = 0;
}
