// A format's number line: which octaves to draw, and the bands that stand still behind them.

import { draw, setAttributes } from "./dom.mjs";

export const BANDS = [["zero", "rounded to zero"], ["subnormal", "subnormal"],
  ["normal", "normal"], ["overflow", "overflow"]];
export const LARGEST_SCALE = 24; // the right end of the slider, as an exponent
export const SLIM = 560; // pixels: narrower, and things move closer together
const FAR = 60; // octaves from 1: bands that begin farther out are not reached for

// The octave of the middle nonzero value.
function medianOctave({ counts, first }) {
  const half = counts.reduce((sum, count) => sum + count, 0) / 2;
  let seen = 0;
  return first + counts.findIndex((count) => (seen += count) >= half);
}

// The octaves to show, [low, high): the values at every scale of the slider and the bands, but not
// what lies so far away that the rest would be a speck.
export function rangeOf(layer, limits) {
  const near = limits.top_octave < FAR;
  const core = { low: limits.zero_octave - 5, high: limits.top_octave + 5 };
  if (!layer.counts.length) return near ? core : { low: -40, high: 30 };
  const [low, high] = [layer.first - 2, layer.first + layer.counts.length + LARGEST_SCALE + 1];
  const clamp = (value, least, most) => Math.max(least, Math.min(most, value));
  if (near) return { low: clamp(low, core.low - 40, core.low), high: clamp(high, core.high, 60) };
  const middle = medianOctave(layer);
  return { low: clamp(low, middle - 50, middle - 10), high: clamp(high, middle + 34, middle + 60) };
}

// The same for a scale that may be any: all bands, where they are far apart too.
export function rangeOfAll(layer, limits) {
  const { low, high } = rangeOf(layer, limits);
  return {
    low: Math.min(low, limits.zero_octave - 6), high: Math.max(high, limits.top_octave + 6) };
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
export function slanted(width, height, gap, start, rising = true) {
  const lines = [];
  for (let x = start - height; x < width; x += gap) {
    lines.push(rising ? `M${x},${height}l${height},${-height}` : `M${x},0l${height},${height}`);
  }
  return lines.join("");
}

// A box that cuts off what stands out, without an id to refer to.
export const clipped = (x, y, width, height, ...content) =>
  draw("svg", { x, y, width, height, overflow: "hidden" }, ...content);

// Hatching for a band: lines one way for zero, both ways for overflow; nothing for the others.
// → [] or [the svg], to be spread among children.
export function hatching(name, { x, y, width, height }, className, gap = 7) {
  if (name !== "zero" && name !== "overflow") return [];
  const start = className === "stripe" ? gap / 2 : 0; // stripes leave the lines behind them visible
  const lines = slanted(width, height, gap, start)
    + (name === "overflow" ? slanted(width, height, gap, start, false) : "");
  return [clipped(x, y, width, height, draw("path", { class: `${className} ${name}`, d: lines }))];
}

// The bands of a plot whose octaves are `step` pixels wide: `below` goes under the bars, and
// `above`, which stripes whatever stands in the hatched bands, over them.
export function drawBands(limits, range, step, height, gap) {
  const [below, above] = [draw("g", { class: "bands" }), draw("g", { class: "stripes" })];
  const bands = bandsOf(limits, range);
  for (const { name, from, to } of bands) {
    const box = { x: (from - range.low) * step, y: 0, width: (to - from) * step, height };
    below.append(draw("rect", { class: `band ${name}`, ...box }),
      ...hatching(name, box, "hatch", gap));
    above.append(...hatching(name, box, "stripe", gap));
  }
  for (const { from } of bands.slice(1)) {
    below.append(draw("path", { class: "border", d: `M${(from - range.low) * step},0V${height}` }));
  }
  return { below, above };
}

// A thin strip of one histogram against the bands, for the ladder and the controller.
// → {element, update({limits, range, scale, width})}; other bands or another width build it anew.
export function makeStrip(layer, height) {
  const element = draw("svg", { class: "strip", height, "aria-hidden": "true" });
  const most = Math.max(1, ...layer.counts);
  const bars = draw("g", { class: "shift" });
  let built = {};
  function build(limits, range, width) {
    const step = width / (range.high - range.low);
    built = { limits, range, width, step };
    setAttributes(element, { viewBox: `0 0 ${width} ${height}` });
    const { below, above } = drawBands(limits, range, step, height, 5);
    const boxes = layer.counts.map((count, index) => {
      if (!count) return "";
      const [x, tall] = [(layer.first + index - range.low) * step,
        Math.max(1.5, (count / most) * (height - 3))];
      return `M${x.toFixed(2)},${height}v${-tall.toFixed(2)}h${step.toFixed(2)}`
        + `v${tall.toFixed(2)}z`;
    });
    bars.replaceChildren(draw("path", { class: "silhouette", d: boxes.join("") }));
    element.replaceChildren(below, bars, above);
  }
  function update({ limits, range, scale, width }) {
    if (built.limits !== limits || built.range !== range || built.width !== width) {
      build(limits, range, width);
    }
    bars.style.transform = `translate(${(scale * built.step).toFixed(2)}px)`;
  }
  return { element, update };
}
