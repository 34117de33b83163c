// A format's number line: which octaves to draw, the bands that stand still behind them, and what
// stands around it: powers of two below, the names of the bands above.

import { draw, setAttributes } from "./dom.mjs";
import { ENDING, clamp, multiples, ticks, trace, write } from "./plot.mjs";
import { BANDS, raised } from "./words.mjs";

export const LAST_SCALE = 48; // the right end of the slider, as an exponent, as in scalescope.py
export const FEW = 0.005; // of the smallest values may lie beyond the picture
const FAR = 60; // octaves from 1: bands that begin farther out are not reached for
export const ROW = 15; // pixels, of the names
const [TICK, LETTER] = [48, 7.1]; // pixels: between two powers of two, and for a letter
export const SHARE = 12; // letters

// The octave up to which a share of the nonzero values lies.
export function octaveAt(share, { counts, first }) {
  const enough = counts.reduce((sum, count) => sum + count, 0) * share;
  let seen = 0;
  return first + counts.findIndex((count) => (seen += count) >= enough);
}

// The octaves to show, [low, high): the values where they are and the bands that they can reach,
// but not what lies so far away that the rest would be a speck.
export function rangeOf(layer, limits) {
  const { zero_octave: zero, top_octave: top } = limits;
  const { length } = layer.counts;
  if (top < FAR) {
    return { low: clamp(octaveAt(FEW, layer) - 2, zero - 40, zero - 19), high: top + 9 };
  }
  if (!length) return { low: -40, high: 30 };
  const middle = octaveAt(0.5, layer);
  return { low: clamp(layer.first - 2, middle - 40, middle - 10),
    high: clamp(layer.first + length + LAST_SCALE, middle + 34, middle + 50) };
}

// Where each band begins and ends in a range: [{name, title, from, to}] of those that show.
export function bandsOf(limits, { low, high }) {
  const edges = [-Infinity, limits.zero_octave, limits.normal_octave, limits.top_octave + 1,
    Infinity];
  return Object.entries(BANDS).map(([name, title], index) => ({ name, title,
    from: Math.max(low, edges[index]), to: Math.min(high, edges[index + 1]) }))
    .filter(({ from, to }) => from < to);
}

// A box that cuts off what stands out, without an id to refer to.
const clipped = ({ x, y, width, height }, ...content) =>
  draw("svg", { x, y, width, height, overflow: "hidden" }, ...content);

// Hatching for a band: lines one way for zero, both ways for overflow; nothing for the others.
// → [] or [the svg], to be spread among children.
function hatching(name, box, className, gap) {
  if (name !== "zero" && name !== "overflow") return [];
  const { width, height } = box;
  const lines = [];
  const start = className === "stripe" ? gap / 2 : 0; // stripes leave the lines behind them visible
  for (let x = start - height; x < width; x += gap) {
    lines.push(`M${x},${height}l${height},${-height}`);
    if (name === "overflow") lines.push(`M${x},0l${height},${height}`);
  }
  return [clipped(box, trace(`${className} ${name}`, lines.join("")))];
}

// A band's place {x, y, width, height} in its color and hatching, as a list of nodes.
export const drawBand = (name, box, gap = 7) =>
  [draw(`rect.band.${name}`, box), ...hatching(name, box, "hatch", gap)];

// A histogram against the bands, with some room above it: it slides, and they stand still.
// → {element, heights, update({limits, range, scale, width})}; other bands, of which each has its
// range, or another width build it anew. `heights` are those of the bars, in pixels.
export function makeStrip(layer, height, room = 3, gap = 5) {
  const element = draw("svg.strip", { height, "aria-hidden": "true" });
  const most = Math.max(1, ...layer.counts);
  const heights = layer.counts.map((count) =>
    (count ? Math.max(1.5, (count / most) * (height - room)) : 0));
  let built = {};
  let bars = []; // the same in each band, which cuts them off at its borders

  function build(limits, range, width) {
    const step = width / (range.high - range.low);
    built = { limits, width, step };
    setAttributes(element, { viewBox: `0 0 ${width} ${height}` });
    const d = heights.map((tall, index) => (tall ? `M${(index * step).toFixed(2)},${height}`
      + `v${-tall.toFixed(2)}h${step.toFixed(2)}v${tall.toFixed(2)}z` : "")).join("");
    bars = bandsOf(limits, range).map(({ name, from, to }) => {
      const box = { x: 0, y: 0, width: (to - from) * step, height };
      const path = trace(`silhouette ${name}`, d);
      const band = clipped({ ...box, x: (from - range.low) * step }, ...drawBand(name, box, gap),
        path, ...hatching(name, box, "stripe", gap),
        trace("border", from > range.low ? `M0,0V${height}` : ""));
      return { band, path, from };
    });
    element.replaceChildren(...bars.map(({ band }) => band));
  }
  function update({ limits, range, scale, width }) {
    if (built.limits !== limits || built.width !== width) build(limits, range, width);
    for (const { path, from } of bars) {
      const x = (layer.first + scale - from) * built.step;
      path.style.transform = `translate(${x.toFixed(2)}px)`;
    }
  }
  return { element, heights, update };
}

// The octaves below a plot {left, width, step, bottom}, as powers of two.
export function drawAxis(range, { left, width, step, bottom: y }, label) {
  const every = [1, 2, 4, 8, 16, 32, 64].find((gap) => gap * step >= TICK);
  const marks = multiples(every, range.low, range.high)
    .map((octave) => [left + (octave - range.low) * step, raised(octave)])
    .filter(([x]) => x >= left + 8 && x <= left + width - 10);
  return draw("g.axis", trace("", `M${left},${y}h${width}`), ...ticks(y, marks),
    write(left + width, y + 32, label, { class: "small", ...ENDING }));
}

// Where the bands' names stand above a plot, in as many rows as keep them apart, with room for so
// many letters more. → {titles, rows}
export function layTitles(limits, range, { left, width, step }, more = 0) {
  const ends = []; // per row, where its last title ends
  const titles = bandsOf(limits, range).map((band) => {
    const half = ((band.title.length + more) * LETTER) / 2;
    const place = left + ((band.from + band.to) / 2 - range.low) * step;
    const middle = clamp(place, left + half, left + width - half);
    let row = ends.findIndex((end) => end < middle - half - 8);
    if (row < 0) row = ends.length;
    ends[row] = middle + half;
    return { ...band, place, middle, row };
  });
  return { titles, rows: Math.max(1, ends.length) };
}

// The names in so many rows of ROW pixels, each followed by its share if there are shares, {name:
// text}.
export function drawTitles(titles, rows, shares = null) {
  const group = draw("g.titles");
  for (const { name, title, place, middle, row } of titles) {
    const y = ROW * (rows - row);
    const x = middle + (shares ? ((title.length - SHARE) * LETTER) / 2 : 0);
    if (row) group.prepend(trace("leader", `M${place},${y + 3}V${rows * ROW + 8}`));
    group.append(draw(`text.title.${name}`, { x, y }, title));
    if (shares) group.append(draw("text.share", { x: x + 7, y }, shares[name]));
  }
  return group;
}
