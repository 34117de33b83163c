// A format's number line: which octaves to draw, and the bands that stand still behind them.

import { draw, make, setAttributes, setOne, setProperty } from "./dom.mjs";

const BANDS = [["zero", "rounded to zero"], ["subnormal", "subnormal"],
  ["normal", "normal"], ["overflow", "overflow"]];
export const LAST_SCALE = 48; // the right end of the slider, as an exponent, as in scalescope.py
export const SLIM = 560; // pixels: narrower, and things move closer together
const FEW = 0.005; // of the smallest values may lie beyond the picture
const FAR = 60; // octaves from 1: bands that begin farther out are not reached for
export const clamp = (value, least, most) => Math.max(least, Math.min(most, value));

// The octave up to which a share of the nonzero values lies.
function octaveAt(share, { counts, first }) {
  const enough = counts.reduce((sum, count) => sum + count, 0) * share;
  let seen = 0;
  return first + counts.findIndex((count) => (seen += count) >= enough);
}

// The octaves to show, [low, high): the values where they are and the bands that they can reach,
// but not what lies so far away that the rest would be a speck.
export function rangeOf(layer, limits) {
  const near = limits.top_octave < FAR;
  const { length } = layer.counts;
  if (near) {
    const core = { low: limits.zero_octave - 19, high: limits.top_octave + 9 };
    const low = length ? octaveAt(FEW, layer) - 2 : 0;
    return { low: clamp(low, core.low - 21, core.low), high: core.high };
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
  return BANDS.map(([name, title], index) => ({ name, title,
    from: Math.max(low, edges[index]), to: Math.min(high, edges[index + 1]) }))
    .filter(({ from, to }) => from < to);
}

// A text at a place, anchored at its middle unless told.
export const write = (x, y, text, more = {}) =>
  draw("text", { x, y, "text-anchor": "middle", ...more }, text);

// Slanted lines over a box, as a path; clipped by the svg it stands in.
function slanted(width, height, gap, start, rising = true) {
  const lines = [];
  for (let x = start - height; x < width; x += gap) {
    lines.push(rising ? `M${x},${height}l${height},${-height}` : `M${x},0l${height},${height}`);
  }
  return lines.join("");
}

// A box that cuts off what stands out, without an id to refer to.
const clipped = ({ x, y, width, height }, ...content) =>
  draw("svg", { x, y, width, height, overflow: "hidden" }, ...content);

// Hatching for a band: lines one way for zero, both ways for overflow; nothing for the others.
// → [] or [the svg], to be spread among children.
export function hatching(name, box, className = "hatch", gap = 7) {
  if (name !== "zero" && name !== "overflow") return [];
  const { width, height } = box;
  const start = className === "stripe" ? gap / 2 : 0; // stripes leave the lines behind them visible
  const lines = slanted(width, height, gap, start)
    + (name === "overflow" ? slanted(width, height, gap, start, false) : "");
  return [clipped(box, draw(`path.${className}.${name}`, { d: lines }))];
}

// A histogram against the bands, with some room above it: it slides, and they stand still.
// → {element, heights, update({limits, range, scale, width})}; other bands or another width build
// it anew. `heights` are those of the bars, in pixels.
export function makeStrip(layer, height, room = 3, gap = 5) {
  const element = draw("svg.strip", { height, "aria-hidden": "true" });
  const most = Math.max(1, ...layer.counts);
  const heights = layer.counts.map((count) =>
    (count ? Math.max(1.5, (count / most) * (height - room)) : 0));
  let built = {};
  let bars = []; // the same in each band, which cuts them off at its borders

  function build(limits, range, width) {
    const step = width / (range.high - range.low);
    built = { limits, range, width, step };
    setAttributes(element, { viewBox: `0 0 ${width} ${height}` });
    const d = heights.map((tall, index) => (tall ? `M${(index * step).toFixed(2)},${height}`
      + `v${-tall.toFixed(2)}h${step.toFixed(2)}v${tall.toFixed(2)}z` : "")).join("");
    bars = [];
    const bands = bandsOf(limits, range).map(({ name, from, to }) => {
      const path = draw(`path.silhouette.${name}`, { d });
      bars.push({ path, from });
      const box = { x: 0, y: 0, width: (to - from) * step, height };
      return clipped({ ...box, x: (from - range.low) * step },
        draw(`rect.band.${name}`, { ...box }), ...hatching(name, box, "hatch", gap), path,
        ...hatching(name, box, "stripe", gap),
        draw("path.border", { d: from > range.low ? `M0,0V${height}` : "" }));
    });
    element.replaceChildren(...bands);
  }
  function update({ limits, range, scale, width }) {
    if (built.limits !== limits || built.range !== range || built.width !== width) {
      build(limits, range, width);
    }
    for (const { path, from } of bars) {
      const x = (layer.first + scale - from) * built.step;
      path.style.transform = `translate(${x.toFixed(2)}px)`;
    }
  }
  return { element, heights, update };
}

// A slider over whole numbers. → {element, set(value, what is said of it)}
export function makeSlider(label, min, max, choose, name = "slider") {
  const element = make("input", { type: "range", class: name, min, max, step: 1,
    "aria-label": label, oninput: () => choose(Number(element.value)) });
  function set(value, said) {
    setProperty(element, "value", String(value));
    setOne(element, "aria-valuetext", said);
  }
  return { element, set };
}

// Call act(x, y, begins) while a drawing is pressed, in its pixels from the left and the top.
export function whilePressed(element, act) {
  const go = ({ buttons, clientX, clientY, type }) => {
    const { left, top } = element.getBoundingClientRect();
    if (buttons & 1) act(clientX - left, clientY - top, type === "pointerdown");
  };
  element.addEventListener("pointerdown", (event) => {
    element.setPointerCapture(event.pointerId);
    go(event);
  });
  element.addEventListener("pointermove", go);
}
